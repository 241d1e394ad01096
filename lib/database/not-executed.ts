/** A database error after which nothing was changed for sure, whatever its cause: no statement was sent, or no COMMIT. */
export class NotExecuted extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
    this.name = 'NotExecuted'
  }

  /** For the `catch` of a statement that changes nothing unless a later one is executed. */
  static rethrow(cause: Error): never {
    throw new NotExecuted(cause)
  }
}
