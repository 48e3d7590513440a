const valid = /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(-.*)?$/

/** The trace that a `traceparent` names (W3C Trace Context); undefined where it is invalid. */
export function traceIdIn(header: unknown): string | undefined {
  const [, version, id, rest] = (typeof header === 'string' && valid.exec(header)) || []
  return version === '00' && rest !== undefined ? undefined : id
}
