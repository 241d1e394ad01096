import { Time } from '@/app/_ui/time'
import type { listOwnEvents, OwnEvent } from '@/lib/event/list'
import { deviceIn } from '@/lib/texts/device'
import type { Texts } from '@/lib/texts/en'

/** What has happened to the account of a user lately. Closed at first, because it is long. */
export function Events({
  events,
  texts,
  locale,
}: {
  events: Awaited<ReturnType<typeof listOwnEvents>>
  texts: Texts
  locale: string
}) {
  const words = texts.account.events

  return (
    <section className="part" id="events">
      <h2>{words.title}</h2>
      <p>{words.intro}</p>
      {events.length === 0 ? (
        <p className="hint">{words.none}</p>
      ) : (
        <details>
          <summary className="link">{words.show}</summary>
          <ul>
            {events.map((event) => (
              <li key={event.id}>
                <Event {...{ event, texts, locale }} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}

function Event({
  event: { kind, method, at, device, network, isByOther },
  texts: { account, mail },
  locale,
}: {
  event: OwnEvent
  texts: Texts
  locale: string
}) {
  const words = account.events
  const isByOperator = kind === 'signed_in' && method === 'operator'
  const from = [device && deviceIn(mail.device, device), network].filter(Boolean)

  return (
    <>
      <div>
        <strong>{isByOperator ? words.operator : words.kinds[kind]}</strong>
      </div>
      <p className="hint">
        {isByOther && !isByOperator && (
          <>
            {words.byOther}
            <br />
          </>
        )}
        {from.length > 0 && (
          <>
            <bdi>{from.join(', ')}</bdi>
            <br />
          </>
        )}
        <Time instant={at.toISOString()} locale={locale} />
      </p>
    </>
  )
}
