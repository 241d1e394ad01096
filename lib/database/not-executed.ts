/**
 * A database error that certainly changed nothing: no statement was sent, or the transaction was
 * never committed.
 */
export class NotExecuted extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
    this.name = 'NotExecuted'
  }

  /** For `catch`, after a statement that has no effect unless a later one is executed. */
  static rethrow(cause: Error): never {
    throw cause.name === 'NotExecuted' ? cause : new NotExecuted(cause)
  }
}
