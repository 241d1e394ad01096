import { texts } from '@/lib/language'
import { Screen } from './screen'

export default async function NotFound() {
  const { app, shared, notFound } = await texts()
  return (
    <Screen app={app} title={notFound.title} sign="link">
      <p>{notFound.body}</p>
      <div className="actions">
        <a className="button" href="/">
          {shared.home}
        </a>
      </div>
    </Screen>
  )
}
