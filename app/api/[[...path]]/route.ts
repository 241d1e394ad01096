import { route } from '@/lib/http/route'

/** 404 for every path under /api that has no route. */
export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'unknown', method: 'GET' },
  async () => new Response(),
  () => false,
)
