import { notFound } from '@/lib/http/route'

export const { GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE } = notFound('unknown')
