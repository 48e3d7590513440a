import { type Destinations, fetchPublic } from '@mortise/module-sdk'

export interface Outcome {
  /** The status of the response; null without a response. */
  readonly status: number | null
  /** The reason for no response. */
  readonly error: string | null
  /** The beginning of the response body, as printable text; null without a response. */
  readonly response: string | null
  /** `Retry-After`, in seconds. */
  readonly retryAfter?: number
}

/**
 * Sends a POST and reads the response. Only the status counts, whatever happens to the body. Never
 * rejects.
 * @param ended aborts the request
 */
export async function post(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
  destinations: Destinations,
  limits: { timeLimit?: number | undefined; ended?: AbortSignal } = {},
): Promise<Outcome> {
  const outcome = await fetchPublic(url, { method: 'POST', headers, body, destinations, ...limits })
  if (outcome.error !== null) return { status: null, error: printable(outcome.error), response: null }
  const seconds = outcome.headers['retry-after']
  return {
    status: outcome.status,
    error: null,
    response: printable(outcome.body.toString()),
    ...(seconds !== undefined && /^\d{1,6}$/.test(seconds) && { retryAfter: Number(seconds) }),
  }
}

const printable = (text: string) => text.replace(/[^\P{C}\n\r\t]/gu, '\uFFFD')
