import { texts } from '@/lib/page/language'
import { Screen } from './_ui/screen'

export default async function NotFound() {
  const { app, shared, notFound } = await texts()
  return (
    <Screen app={app} title={notFound.title} icon="link">
      <p>{notFound.body}</p>
      <div className="actions">
        <a className="button" href="/">
          {shared.home}
        </a>
      </div>
    </Screen>
  )
}
