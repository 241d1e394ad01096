import type { Actor } from '../contract/events'
import { currentRequestOrigin, withRequestOrigin } from '../log/request-context'
import { recordsEvents } from '../settings/env'

/** Who causes the events of a request or a command, and from where. */
export type Origin = {
  actor: Actor
  /** The name after `--by`, and the command, such as `users disable`. */
  operator?: string | null
  command?: string | null
  /** The connection or the client that acts. */
  connectionId?: string | null
  clientId?: string | null
  /** The user whom a failed sign-in concerns, if the request names one. */
  userId?: string | null
  readonly device?: string | null
  /** An IPv4 /24 or an IPv6 /48, or null. */
  readonly network?: string | null
  readonly requestId?: string | null
}

// On globalThis, because pages and routes are bundled separately.
const globals = globalThis as typeof globalThis & { commandOrigin?: Origin }

function requestOrigin(): Origin | undefined {
  return currentRequestOrigin() as Origin | undefined
}

/** Runs `work`, whose events have this origin. With EVENTS_DAYS=0, it has none. */
export function withOrigin<Result>(origin: () => Origin, work: () => Result): Result {
  return recordsEvents() ? withRequestOrigin(origin(), work) : work()
}

/** Sets the origin of all events of this process, which runs a command. */
export function setCommandOrigin(origin: Origin): void {
  globals.commandOrigin = origin
}

/** Returns the origin of events that are recorded now. */
export function currentOrigin(): Origin {
  return requestOrigin() ?? globals.commandOrigin ?? { actor: 'user' }
}

/** Completes the origin of the events of the request in which this code runs. */
export function addToOrigin(
  known: Partial<Pick<Origin, 'actor' | 'connectionId' | 'clientId' | 'userId'>>,
): void {
  const origin = requestOrigin()
  if (origin) Object.assign(origin, known)
}
