import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { CrowdConnection, newGuest } from '../../harness/crowd-connection.ts'

export interface WritingGuests {
  readonly port: number
  readonly addresses: readonly string[]
  readonly guestsPerAddress: number
  /** Purchases of each guest without a pause. */
  readonly atOnce: number
}

export interface Written {
  taken: number
  refused: number
}

interface Guest {
  readonly connection: CrowdConnection
  readonly token: string
}

/** The largest purchase: 200 products of 128 code points, four bytes each. */
const purchase = JSON.stringify({
  items: Array.from({ length: 200 }, (_, index) => ({
    product: `${'\u{1F600}'.repeat(125)}${String(index).padStart(3, '0')}`,
    quantity: 9999,
  })),
})

let byAddress: Guest[][] = []
const written: Written = { taken: 0, refused: 0 }
let round = 0

/**
 * A process of guests that send the largest purchases, each with its own key. The options start it; it
 * replies after the first purchases. `{ perSecond }` sets the later purchases per second and address;
 * 0 pauses. Each reply has the counts so far.
 */
process.on('message', async (message: WritingGuests | { perSecond: number }) => {
  if ('port' in message) {
    byAddress = await Promise.all(message.addresses.map((address) => come(message, address)))
    await Promise.all(byAddress.flatMap((guests) => guests.map((guest) => hurry(guest, message.atOnce))))
  } else {
    round += 1
    if (message.perSecond > 0) for (const guests of byAddress) goOn(guests, 1_000 / message.perSecond, round)
  }
  process.send?.(written)
})
process.once('disconnect', () => process.exit())

async function come({ port, guestsPerAddress }: WritingGuests, address: string): Promise<Guest[]> {
  const guests: Guest[] = []
  for (let guest = 0; guest < guestsPerAddress; guest += 1) {
    const connection = new CrowdConnection(port, address)
    guests.push({ connection, token: await newGuest(connection) })
  }
  return guests
}

async function hurry(guest: Guest, purchases: number): Promise<void> {
  for (let count = 0; count < purchases; count += 1) await write(guest)
}

async function goOn(guests: readonly Guest[], interval: number, during: number): Promise<void> {
  for (let turn = 0; round === during; turn += 1)
    await Promise.all([write(guests[turn % guests.length] as Guest), pause(interval)])
}

async function write({ connection, token }: Guest): Promise<void> {
  const head = [
    'POST /purchase HTTP/1.1',
    'host: x',
    `guest-token: ${token}`,
    `idempotency-key: ${randomUUID()}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(purchase)}`,
  ]
  // A host may refuse and end the connection before it has read all.
  const status = await connection.ask(`${head.join('\r\n')}\r\n\r\n${purchase}`).then(
    (response) => response.status,
    () => 0,
  )
  if (status === 201) written.taken += 1
  else written.refused += 1
}
