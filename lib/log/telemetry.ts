// What traces and metrics add while they are on. While they are off, both variables are
// undefined, and no code of OpenTelemetry is loaded. On globalThis, because
// instrumentation.ts, the pages, the routes and bin/server.ts are bundled separately.

export type Tracing = {
  /** Exports the queued spans at once. Resolves after two seconds at the latest. */
  flush: () => Promise<void>
  /** Returns the ID of the trace in which this code runs (32 hexadecimal digits). */
  readTraceId: () => string | undefined
  /** Runs `work` in a child span. Outside a trace, runs it without a span. */
  inSpan: <Result>(span: Span, work: () => Promise<Result>) => Promise<Result>
}

/** `operation`: for a span of the database, the first word of the statement. */
type Span = { name: 'database' | 'bcrypt'; operation?: string }

export type Metrics = {
  /** Exports the metrics at once. Resolves after two seconds at the latest. */
  flush: () => Promise<void>
  /** Counts a request. `route`: the result of `nameRoute`, never a path of a client. */
  countRequest: (route: string, status: number, seconds: number) => void
  /** Counts a sign-in if the log line is that of a step of a sign-in. */
  countSignIn: (line: SignInLine) => void
}

/** The fields of the log line of a request that are labels of a sign-in. */
export type SignInLine = {
  route: string
  status: number
  code?: string | undefined
  check?: string | undefined
  connection?: string | undefined
}

declare global {
  var tracing: Tracing | undefined
  var metrics: Metrics | undefined
}

/** Runs `work`, in a child span of the request if traces are on. */
export function inSpan<Result>(span: Span, work: () => Promise<Result>): Promise<Result> {
  return globalThis.tracing ? globalThis.tracing.inSpan(span, work) : work()
}
