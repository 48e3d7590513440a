import { setTimeout } from 'node:timers/promises'
import type { Random } from '../../harness/random.ts'
import { Connection, type Reply } from './connection.ts'
import { LARGE, PIECES } from './steady-module.ts'
import type { Timeline } from './timeline.ts'

export interface ClientOptions {
  readonly port: number
  /** Its number, which identifies its writes. */
  readonly number: number
  readonly random: Random
  readonly timeline: Timeline
  /** The modules that change during the load. */
  readonly changing: readonly string[]
  /** Called for every failed request, with request and response. */
  readonly onFailure: (text: string) => void
}

/** The longest pause between two requests of a client, in milliseconds. */
const PAUSE = 150

/** A caller with one keep-alive connection. It sends all kinds of requests and checks each response. */
export class Client {
  readonly #options: ClientOptions
  #connection: Connection | undefined
  #running: Promise<void> | undefined
  #stopped = false
  #sequence = 0
  /** The sum of acknowledged amounts. */
  #total = 0
  requests = 0

  constructor(options: ClientOptions) {
    this.#options = options
  }

  get acknowledged() {
    return { client: this.#options.number, entries: this.#sequence, total: this.#total }
  }

  start(): void {
    this.#stopped = false
    this.#running = this.#run()
  }

  /** Resolves after the last response. The connection stays open. */
  async pause(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  async close(): Promise<void> {
    await this.pause()
    this.#connection?.close()
  }

  async #run(): Promise<void> {
    const { random, onFailure, number } = this.#options
    const kinds = [
      [30, () => this.#read()],
      [24, () => this.#write()],
      [14, () => this.#pipeline()],
      [14, () => this.#readChanging()],
      [8, () => this.#slow()],
      [5, () => this.#upload()],
      [3, () => this.#stream()],
      [1, () => this.#readSlowly()],
    ] as const
    while (!this.#stopped) {
      const kind = random.weighted(kinds)
      try {
        this.#connection = await Connection.open(this.#options.port, this.#connection)
        await kind()
      } catch (error) {
        onFailure(`client ${number}, request ${this.requests}: ${(error as Error).message}`)
        this.#connection?.close()
        this.#connection = undefined
      }
      await setTimeout(random.between(0, PAUSE))
    }
  }

  async #read(): Promise<void> {
    const echo = this.#options.random.between(0, 1e9)
    this.#hold(await this.#ask(get(`/steady?echo=${echo}`)), 200, { echo: String(echo) })
  }

  async #write(): Promise<void> {
    const { number, random } = this.#options
    const amount = random.between(1, 1000)
    const entry = { client: number, sequence: this.#sequence + 1, amount }
    const asked = await this.#ask(post('/steady/entry', JSON.stringify(entry)))
    this.#hold(asked, 201, { total: this.#total + amount })
    this.#sequence += 1
    this.#total += amount
  }

  /** Pipelined requests with a slow one in the middle: the responses keep their order. */
  async #pipeline(): Promise<void> {
    const { timeline } = this.#options
    const begun = timeline.epoch
    const connection = this.#connection as Connection
    const paths = ['/steady?echo=1', '/steady?echo=2', '/steady/slow/40', '/steady?echo=3']
    const wanted = [{ echo: '1' }, { echo: '2' }, { ms: '40' }, { echo: '3' }]
    const responses = paths.map(() => connection.nextReply())
    connection.send(paths.map(get).join(''))
    this.requests += paths.length
    const asked = await Promise.all(responses)
    asked.forEach((response, index) => {
      this.#hold({ begun, response }, 200, wanted[index] as object)
    })
  }

  async #slow(): Promise<void> {
    const ms = this.#options.random.between(1000, 2000)
    this.#hold(await this.#ask(get(`/steady/slow/${ms}`)), 200, { ms: String(ms) })
  }

  /** A body in pieces over about a second: with its length, in chunks, or after a 100 Continue. */
  async #upload(): Promise<void> {
    const { random, timeline } = this.#options
    const begun = timeline.epoch
    const connection = this.#connection as Connection
    const pieces = ['{"text":"', ...Array.from({ length: 6 }, () => 'z'.repeat(4_000)), '"}']
    const isChunked = random.chance(0.5)
    const size = isChunked ? 'transfer-encoding: chunked' : `content-length: ${pieces.join('').length}`
    const expect = random.chance(0.3) ? 'expect: 100-continue\r\n' : ''
    this.requests += 1
    const responded = connection.nextReply()
    // Checked below; without this a broken connection would be an unhandled rejection.
    responded.catch(() => {})
    connection.send(
      `POST /steady/upload HTTP/1.1\r\nhost: soak\r\ncontent-type: application/json\r\n${expect}${size}\r\n\r\n`,
    )
    for (const piece of pieces) {
      connection.send(isChunked ? `${piece.length.toString(16)}\r\n${piece}\r\n` : piece)
      await setTimeout(random.between(20, 250))
    }
    if (isChunked) connection.send('0\r\n\r\n')
    this.#hold({ begun, response: await responded }, 200, { length: 24_000 })
  }

  async #stream(): Promise<void> {
    this.#holdText(await this.#ask(get('/steady/stream')), 'y'.repeat(PIECES.count * PIECES.length))
  }

  /** Reads nothing for a while of a response that is larger than all buffers. */
  async #readSlowly(): Promise<void> {
    const connection = this.#connection as Connection
    const asking = this.#ask(get('/steady/large'))
    asking.catch(() => {})
    connection.pause()
    await setTimeout(this.#options.random.between(300, 1500))
    connection.resume()
    this.#holdText(await asking, 'x'.repeat(LARGE))
  }

  async #readChanging(): Promise<void> {
    const { changing, random, timeline } = this.#options
    const id = random.oneOf(changing)
    const { begun, response } = await this.#ask(get(`/${id}`))
    timeline.saw(begun, id, stateOf(response))
  }

  async #ask(bytes: string): Promise<{ begun: number; response: Reply }> {
    const begun = this.#options.timeline.epoch
    this.requests += 1
    return { begun, response: await (this.#connection as Connection).ask(bytes) }
  }

  /** Expects this response from an instance that could serve at the time and is not closed. */
  #hold({ begun, response }: { begun: number; response: Reply }, status: number, wanted: object): void {
    const body = response.status === status ? JSON.parse(response.body) : {}
    const differs = Object.entries(wanted).some(([key, value]) => body[key] !== value)
    if (response.status !== status || differs || body.closed !== false) {
      throw new Error(
        `wanted ${status} ${JSON.stringify(wanted)}, got ${response.status} ${response.body.slice(0, 300)}`,
      )
    }
    this.#options.timeline.saw(begun, 'steady', String(body.instance))
  }

  #holdText({ begun, response }: { begun: number; response: Reply }, wanted: string): void {
    const [instance, text] = response.body.split(' ')
    if (response.status !== 200 || text !== wanted) {
      throw new Error(
        `wanted 200 and ${wanted.length} characters, got ${response.status} and ${text?.length ?? 0}`,
      )
    }
    this.#options.timeline.saw(begun, 'steady', instance as string)
  }
}

export const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: soak\r\n\r\n`

const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nhost: soak\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** The response of a changing module: `404`, or its version and setting. */
export function stateOf({ status, body }: Reply): string {
  if (status !== 200) return String(status)
  const { version, mark } = JSON.parse(body)
  return `${version}, mark ${mark}`
}
