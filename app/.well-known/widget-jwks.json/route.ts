import { operations } from '@/lib/contract/operations'
import { route } from '@/lib/http/route'
import { env } from '@/lib/settings/env'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  operations.getWidgetKeys,
  async ({ respond }) => respond({ keys: env().WIDGET_SIGNING_KEYS!.published }),
)
