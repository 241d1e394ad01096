/**
 * Thrown if a command can't be executed with the given input. The message is for the
 * operator.
 */
export class UsageError extends Error {}
