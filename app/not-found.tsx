import { texts } from '@/lib/texts/page-texts'
import { Actions, Screen } from './_ui/screen'

export default async function NotFound() {
  const { app, shared, notFound } = await texts()
  return (
    <Screen app={app} title={notFound.title} icon="chain">
      <p>{notFound.body}</p>
      <Actions links={[['/', shared.home]]} />
    </Screen>
  )
}
