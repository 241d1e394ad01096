/**
 * Why a setup link could not do something. `message` is for its holder, an IT administrator
 * of a customer, who does not know our commands.
 */
export class SetupProblem extends Error {
  override name = 'SetupProblem'
}

/** The text after a change by somebody else, such as a command of the operator. */
export const changedMeanwhile =
  'The connection was changed meanwhile. Reload this page, then try again.'
