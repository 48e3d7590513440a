import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Round } from './round.ts'

/**
 * A server that receives JSON until the end of the round.
 * @returns its URL
 */
export async function startReceiver(
  round: Round,
  // biome-ignore lint/suspicious/noExplicitAny: whatever is sent
  onBody: (body: any, response: ServerResponse) => unknown,
): Promise<string> {
  const server = createServer(async (request, response) => onBody(await json(request), response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  round.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
