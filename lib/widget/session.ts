import type { Check } from '../contract/checks'
import { lifetimes } from '../contract/lifetimes'
import { hashSecret, signJwt } from '../crypto/token'
import { isSecretLive } from '../database/issued-secrets'
import { prisma } from '../database/prisma'
import { env } from '../settings/env'
import type { SigningKeys } from '../settings/signing-keys'

/** The widget of a token. `now` is in seconds since 1970, by the database's clock. */
type PresentedWidget = { id: string; slug: string; isApproved: boolean; now: number }

/**
 * Returns the widget of a live token, and whether `origin` is approved for the widget.
 * Null for other tokens.
 */
export async function findPresentedWidget(
  widgetToken: string,
  origin: string | null,
): Promise<PresentedWidget | null> {
  const [row] = await prisma().$queryRaw<PresentedWidget[]>`
    SELECT id, slug, floor(extract(epoch FROM now()))::int AS now,
      EXISTS (SELECT FROM widget_origins WHERE widget_id = widgets.id AND origin = ${origin}) AS "isApproved"
    FROM widgets
    WHERE disabled_at IS NULL AND id = (
      SELECT widget_id FROM widget_tokens WHERE token_hash = ${hashSecret(widgetToken)} AND ${isSecretLive})`
  return row ?? null
}

/**
 * Returns why `findPresentedWidget` found no widget for a token, for the log, and the slug
 * of the widget, if it is known. The statement is the same for all reasons.
 */
export async function explainWidgetToken(
  widgetToken: string,
): Promise<{ check: Check; widget?: string }> {
  const [token] = await prisma().$queryRaw<{ check: Check; widget: string }[]>`
    SELECT CASE WHEN revoked_at IS NOT NULL THEN 'token_revoked' WHEN expires_at <= now() THEN 'token_expired'
        WHEN (SELECT disabled_at IS NOT NULL FROM widgets WHERE id = widget_id) THEN 'widget_disabled'
        ELSE 'token_changed' END AS check,
      (SELECT slug FROM widgets WHERE id = widget_id) AS widget
    FROM widget_tokens WHERE token_hash = ${hashSecret(widgetToken)}`

  return token ?? { check: 'token_unknown' }
}

/**
 * Returns a JWT for a page of an approved origin. It has its own type, issuer and keys
 * (RFC 8725 §3.11).
 */
export function signWidgetToken(
  { id, slug, now }: PresentedWidget,
  origin: string,
  keys: SigningKeys,
) {
  const exp = now + lifetimes.widgetToken
  const claims = {
    iss: `${env().PUBLIC_URL}/widget`,
    aud: 'widget',
    sub: id,
    widget: slug,
    origin,
    iat: now,
    exp,
  }

  return { token: signJwt('widget+jwt', claims, keys), expiresAt: new Date(exp * 1_000) }
}
