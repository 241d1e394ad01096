/** A command that can't be carried out as it was given. The message is for the operator. */
export class UsageError extends Error {}
