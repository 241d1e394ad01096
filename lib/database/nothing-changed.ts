/** A database error that certainly changed nothing: no statement was sent, or the transaction was never committed. */
export class NothingChanged extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
    this.name = 'NothingChanged'
  }

  /** For the `catch` of a statement that has no effect unless a later one is executed. */
  static rethrow(cause: Error): never {
    throw cause.name === 'NothingChanged' ? cause : new NothingChanged(cause)
  }
}
