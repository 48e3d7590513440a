import { type ClientRequest, get } from 'node:http'
import { CrowdConnection, newGuest } from '../../harness/crowd-connection.ts'

export interface StreamingGuests {
  readonly port: number
  readonly addresses: readonly string[]
  readonly guestsPerAddress: number
  readonly streamsPerGuest: number
}

export interface StreamsOpened {
  readonly opened: number
  readonly refused: number
}

let open: ClientRequest[] = []

/** A process of guests with many streams each. A message without a port closes them. */
process.on('message', async (options: StreamingGuests | { port: undefined }) => {
  if (options.port !== undefined) {
    const statuses = await Promise.all(options.addresses.map((address) => come(options, address)))
    const opened = statuses.flat().filter((status) => status === 200).length
    process.send?.({ opened, refused: statuses.flat().length - opened } satisfies StreamsOpened)
  } else {
    for (const request of open) request.destroy()
    open = []
    process.send?.({})
  }
})
process.once('disconnect', () => process.exit())

/** @returns the status of each stream; 0 without a response */
async function come(options: StreamingGuests, address: string): Promise<number[]> {
  const { port, guestsPerAddress, streamsPerGuest } = options
  const connection = new CrowdConnection(port, address)
  const statuses: number[] = []
  for (let guest = 0; guest < guestsPerAddress; guest += 1) {
    const token = await newGuest(connection)
    for (let stream = 0; stream < streamsPerGuest; stream += 1)
      statuses.push(await openOne(port, address, token))
  }
  connection.close()
  return statuses
}

function openOne(port: number, localAddress: string, token: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  const headers = { 'guest-token': token, accept: 'text/event-stream' }
  const request = get({ port, path: '/event', agent: false, localAddress, headers }, (response) => {
    response.resume().on('error', () => {})
    if (response.statusCode === 200) open.push(request)
    resolve(response.statusCode ?? 0)
  })
  request.on('error', () => resolve(0))
  return promise
}
