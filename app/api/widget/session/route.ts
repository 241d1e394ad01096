import { ApiError, originNotApprovedMessage } from '@/lib/contract/errors'
import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { env } from '@/lib/settings/env'
import {
  explainWidgetToken,
  findPresentedWidget,
  signWidgetToken,
} from '@/lib/widget/session'

/**
 * Issues a JWT for a widget's API, to an approved origin's page. Pages call this route
 * cross-site, without cookies.
 */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.startWidgetSession,
  async (call) => {
    const { request, body, respond, addToLog } = call
    const origin = request.headers.get('origin')
    const widget = await findPresentedWidget(body.widgetToken, origin)
    if (!widget) {
      addToLog(await explainWidgetToken(body.widgetToken))
      throw new ApiError('WIDGET_TOKEN_INVALID')
    }

    addToLog({ widget: widget.slug })
    if (!origin || !widget.isApproved)
      throw new ApiError('ORIGIN_REJECTED', {
        message: originNotApprovedMessage,
        check: origin ? 'origin_unapproved' : 'origin_missing',
      })

    const { token, expiresAt } = signWidgetToken(
      widget,
      origin,
      env().WIDGET_SIGNING_KEYS!,
    )

    return respond({ ok: true, token, expiresAt: expiresAt.toISOString() })
  },
)
