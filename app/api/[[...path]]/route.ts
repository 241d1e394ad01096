import { apiRoute } from '@/lib/api-route'
import { Refusal } from '@/lib/errors'

const notFound = apiRoute('unknown', async () => {
  throw new Refusal('NOT_FOUND')
})

export { notFound as DELETE, notFound as GET, notFound as HEAD, notFound as OPTIONS, notFound as PATCH, notFound as POST, notFound as PUT }
