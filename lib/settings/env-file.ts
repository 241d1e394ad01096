// What programs that read env files differently leave in a value. A shell and the loader
// of Next.js read `NAME="value" # comment` as `value`. `docker run --env-file` and others
// keep everything after `NAME=`.

type Given = Record<string, string | undefined>

const quotesRemedy =
  'its value has quotes around it, which docker --env-file does not remove: remove them'
const commentRemedy =
  'its value has a # after a space, and docker --env-file does not remove comments: put the comment on a line of its own'
const quoted = /^["'`“”„‘’].*["'`“”„‘’]$/s
const quotedBeforeComment = /^(["'`]).*\1\s+#/s

/**
 * Returns what an env file has probably left in an invalid value, as the end of a
 * sentence, or ''. Never quotes the value.
 */
export function explainInvalid(given: string | undefined): string {
  const value = given?.trim() ?? ''
  if (quoted.test(value) || quotedBeforeComment.test(value)) return `; ${quotesRemedy}`
  return /\s#/.test(value) ? `; ${commentRemedy}` : ''
}

/** Settings that look wrong, and what to do. `settings` are names. */
export type EnvFileWarning = { settings: string[]; message: string }

/**
 * Returns warnings about settings that are valid, but probably not what was meant. `names`
 * are those of all settings.
 */
export function warnAboutEnvFile(given: Given, names: string[]): EnvFileWarning[] {
  const select = (isWrong: (value: string, name: string) => boolean) =>
    names.filter((name) => isWrong(given[name]?.trim() ?? '', name))

  const warnings = [
    {
      settings: select(hasOuterQuotes),
      message:
        'the values of these settings have quotes around them, which docker --env-file does not remove: remove them',
    },
    {
      // not every #, because “Team #1” is a name
      settings: select((value) => /\s#(\s|$)/.test(value)),
      message:
        'the values of these settings contain a comment, which docker --env-file does not remove: put it on a line of its own',
    },
    {
      settings: misspelledNames(given, names),
      message:
        'these settings are not read, because their names begin with “export” or have spaces around them in the env file',
    },
  ]

  return warnings.filter(({ settings }) => settings.length > 0)
}

/** The names of fonts may have quotes, so only quotes around a list are wrong there. */
function hasOuterQuotes(value: string, name: string): boolean {
  if (!quoted.test(value)) return false
  return name !== 'FONT_FAMILY' || /^(["'])[^"']*,[^"']*\1$/.test(value)
}

/** Returns the settings of which only a name like `export NAME` or `NAME ` is given. */
export function misspelledNames(given: Given, names: string[]): string[] {
  const read = Object.keys(given).flatMap((key) => {
    const name = key.replace(/^\uFEFF?\s*(export\s+)?/, '').trim()
    return name === key ? [] : name
  })

  return names.filter((name) => read.includes(name) && !given[name]?.trim())
}
