import * as z from 'zod'
import { UsageError } from '../../usage-error'

type Label = (setting: string) => string

// line breaks, terminal escapes, changes of text direction
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const noInvisible = 'must contain no control or invisible characters'

/**
 * Validates an operator's settings. Rejects characters that can mislead a terminal or a
 * reader. Throws UsageError.
 */
export function checkEntered<Settings extends object>(
  schema: z.ZodType<Settings>,
  entered: object,
  label: Label,
) {
  const asEntered = schema.superRefine((settings, { addIssue }) => {
    for (const [name, value] of Object.entries(settings)) {
      if (typeof value !== 'string' || value.startsWith('-----BEGIN ')) continue
      if (invisible.test(value))
        addIssue({ code: 'custom', path: [name], message: noInvisible })
      if (URL.canParse(value) && (new URL(value).username || new URL(value).password))
        addIssue({
          code: 'custom',
          path: [name],
          message: 'must contain no user name and no password',
        })
    }
  })

  const { data, error } = asEntered.safeParse(entered)
  if (data) return data

  const problems = error!.issues.map(
    ({ path, message }) => `${label(String(path[0]))} ${message}.`,
  )
  throw new UsageError(problems.join('\n'))
}

type OtherIssuer = {
  slug: string
  stored: { kind: string; issuer: string }
  issuer: string
}

/** Returns what to do instead, if an update would change the issuer of a connection. */
export function explainOtherIssuer(
  { slug, stored, issuer }: OtherIssuer,
  flag: string,
): string {
  return [
    `${slug} is ${stored.issuer}, not ${issuer}, which can have other users with the same subjects.`,
    `If they are the same users: npm run connections -- update ${slug} ${flag} --same-users`,
    `Otherwise, add it as another connection: npm run connections -- add ${stored.kind} NEW-SLUG ${flag} --domain DOMAIN --beside ${slug}`,
  ].join('\n')
}

/** What is shown about a connection whose values came from a setup link. */
export const publicOnlyLine =
  'entered with a setup link: our requests lead to public addresses only'

/** The label of a connection's button, as an operator enters it. */
export const NewConnectionName = z
  .string()
  .trim()
  .min(1, 'must have at least one character')
  .max(100, 'must have at most 100 characters')
  .refine((name) => !invisible.test(name), noInvisible)
