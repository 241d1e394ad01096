import { z } from 'zod'

const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u // line breaks, escapes, changes of direction
const noInvisible = 'must contain no control or invisible characters'

/** The settings of a kind as an operator enters them: nothing that a terminal or a reader takes for something else. */
export function asEntered<Settings extends object>(schema: z.ZodType<Settings>): z.ZodType<Settings> {
  return schema.superRefine((settings, { addIssue }) => {
    for (const [name, value] of Object.entries(settings)) {
      if (typeof value !== 'string' || value.startsWith('-----BEGIN ')) continue
      if (invisible.test(value)) addIssue({ code: 'custom', path: [name], message: noInvisible })
      if (URL.canParse(value) && (new URL(value).username || new URL(value).password))
        addIssue({ code: 'custom', path: [name], message: 'must contain no user name and no password' })
    }
  })
}

/** The label of a connection's button, as an operator enters it. */
export const NewConnectionName = z
  .string()
  .trim()
  .min(1, 'must have at least one character')
  .max(100, 'must have at most 100 characters')
  .refine((name) => !invisible.test(name), noInvisible)
