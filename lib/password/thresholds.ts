/** The guesses that a password must withstand: about those of eight random characters. */
export const minGuesses = 1e8
