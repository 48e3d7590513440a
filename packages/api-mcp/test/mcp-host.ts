import { once } from 'node:events'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import {
  Client,
  type ClientOptions,
  type FetchLike,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { createTestHost, type TestCaller, type TestHostOptions } from '@mortise/module-testkit'
import type { Test } from 'tap'

const folder = (name: string) => ({ directory: fileURLToPath(new URL(`../../${name}`, import.meta.url)) })

/** A host with a shop and its tools, which are called as often as they say. */
export const shop = (t: Test, { modules = [], ...options }: Partial<TestHostOptions> = {}) =>
  createTestHost(t, {
    modules: [folder('api-cart'), folder('api-purchase'), folder('api-mcp'), ...modules],
    rehearse: false,
    ...options,
  })

/** Requests of a caller without a socket. */
const fetchOf =
  (caller: TestCaller): FetchLike =>
  async (url, { method = 'GET', headers, body, signal } = {}) => {
    const { pathname } = new URL(url)
    const given = Object.fromEntries(new Headers(headers as never))
    const response = await caller.begin(method as 'GET', pathname, body as string, given)
    const { statusCode, headers: sent } = response
    const stream = response.stream()
    signal?.addEventListener('abort', () => response.raw.res.destroy())
    if (statusCode === 202) await once(stream.resume(), 'end')
    return new Response(statusCode === 202 ? null : (Readable.toWeb(stream) as never), {
      status: statusCode,
      headers: Object.entries(sent).map(([name, value]): [string, string] => [name, String(value)]),
    })
  }

/** The official client of a caller. It speaks the newest revision, unless `options` say otherwise. */
export async function connect(
  t: Test,
  caller: TestCaller,
  options: ClientOptions = { versionNegotiation: { mode: 'auto' } },
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, options)
  const transport = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
    fetch: fetchOf(caller),
  })
  t.teardown(() => client.close())
  await client.connect(transport)
  return client
}
