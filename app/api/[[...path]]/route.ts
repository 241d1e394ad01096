import { route } from '@/lib/http/route'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = route(
  { name: 'unknown', method: 'GET' },
  async () => new Response(),
  () => false,
)
