import { consoleRefused } from '@mortise/installer/failures'

/**
 * Signs in with a one-time link, and ends all sessions, its own too.
 * @param base where the running host serves, with the base path
 * @throws {Failure} if the host does not do it
 */
export async function endSessions(base: string, link: string): Promise<void> {
  const send = async (method: string, path: string, more: RequestInit & { headers?: object } = {}) => {
    const headers = { 'x-console': '1', origin: new URL(base).origin, ...more.headers }
    const signal = AbortSignal.timeout(10_000)
    const response = await fetch(`${base}/console/${path}`, { ...more, method, headers, signal }).catch(
      (cause) => {
        throw consoleRefused({ reason: `${base} cannot be reached`, cause })
      },
    )
    if (response.ok) return response
    const { detail } = (await response.json().catch(() => ({}))) as { detail?: unknown }
    throw consoleRefused({ reason: typeof detail === 'string' ? detail : `it returned ${response.status}` })
  }
  const type = { 'content-type': 'application/json' }
  const begun = await send('POST', 'session', { headers: type, body: JSON.stringify({ link }) })
  const [cookie = ''] = begun.headers.getSetCookie().map((one) => one.split(';')[0] as string)
  await send('DELETE', 'session/all', { headers: { cookie } })
}
