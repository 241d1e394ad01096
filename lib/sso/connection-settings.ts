import { z } from 'zod'
import { kinds } from './kinds'

const ofKinds = Object.values(kinds).map(({ settings }) => settings)
type OfKind = (typeof ofKinds)[number]

/** The settings of a connection, by the kind of its identity provider. */
export const ConnectionSettings = z.discriminatedUnion('kind', ofKinds as [OfKind, ...OfKind[]])

export type ConnectionSettings = z.output<typeof ConnectionSettings>
