import { after } from 'next/server'
import { parseEmail } from '@/lib/contract/email-address'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { mailResetLink } from '@/lib/password/forgot'

/**
 * Emails a reset link. The response is the same for every address, and is sent before any
 * lookup.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.forgotPassword,
  async (call) => {
    const { caller, body, respond } = call
    const emails = parseEmail(body.email)
    after(() => mailResetLink(emails, caller))
    return respond({ ok: true })
  },
)
