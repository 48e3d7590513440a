import { once } from 'node:events'
import { Agent, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { Caller, Reply } from '../../harness/caller.ts'
import { servedIn } from '../../harness/module-changes.ts'
import type { Random } from '../../harness/random.ts'
import { pipeline } from './pipeline.ts'
import { LARGE, PIECES } from './steady-module.ts'
import type { Timeline } from './timeline.ts'

export interface ClientOptions {
  readonly url: string
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

/** A response, and the epoch of its request. */
interface Asked {
  readonly begun: number
  readonly reply: Reply
}

/** A caller with one keep-alive connection. It sends all kinds of requests and checks each response. */
export class Client {
  readonly #options: ClientOptions
  readonly #agent: OneConnection
  readonly #caller: Caller
  #running: Promise<void> | undefined
  #stopped = false
  #sequence = 0
  /** The sum of acknowledged amounts. */
  #total = 0
  requests = 0

  constructor(options: ClientOptions) {
    this.#options = options
    this.#agent = new OneConnection(() => this.#fail('the host closed the connection'))
    this.#caller = new Caller(this.#agent, () => options.url)
  }

  get acknowledged() {
    return { client: this.#options.number, entries: this.#sequence, total: this.#total }
  }

  start(): void {
    this.#stopped = false
    this.#running = this.#run()
  }

  /** Resolves after the last response, and closes the connection: the host would do it after 10 s. */
  async pause(): Promise<void> {
    this.#stopped = true
    await this.#running
    this.#agent.close()
  }

  async #run(): Promise<void> {
    const { random } = this.#options
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
      this.requests += 1
      await random
        .weighted(kinds)()
        .catch((error: Error) => this.#fail(error.message))
      await setTimeout(random.between(0, PAUSE))
    }
  }

  #fail(what: string): void {
    this.#options.onFailure(`client ${this.#options.number}, request ${this.requests}: ${what}`)
  }

  async #read(): Promise<void> {
    const echo = this.#options.random.between(0, 1e9)
    this.#hold(await this.#get(`/steady?echo=${echo}`), { echo: String(echo) })
  }

  async #write(): Promise<void> {
    const { number, random, timeline } = this.#options
    const amount = random.between(1, 1000)
    const entry = { client: number, sequence: this.#sequence + 1, amount }
    const begun = timeline.epoch
    const reply = await this.#caller.post('/steady/entry', entry)
    this.#hold({ begun, reply }, { total: this.#total + amount }, 201)
    this.#sequence += 1
    this.#total += amount
  }

  /** Pipelined requests with a slow one in the middle: the responses keep their order. */
  async #pipeline(): Promise<void> {
    const begun = this.#options.timeline.epoch
    const paths = ['/steady?echo=1', '/steady?echo=2', '/steady/slow/40', '/steady?echo=3']
    const wanted = [{ echo: '1' }, { echo: '2' }, { ms: '40' }, { echo: '3' }]
    const bodies = await pipeline(this.#options.url, paths)
    for (const [index, body] of bodies.entries())
      this.#hold({ begun, reply: new Reply(200, {}, body) }, wanted[index] as object)
  }

  async #slow(): Promise<void> {
    const ms = this.#options.random.between(1000, 2000)
    this.#hold(await this.#get(`/steady/slow/${ms}`), { ms: String(ms) })
  }

  /** A body in pieces over about a second: with its length, in chunks, or after a 100 Continue. */
  async #upload(): Promise<void> {
    const { random } = this.#options
    const pieces = ['{"text":"', ...Array.from({ length: 6 }, () => 'z'.repeat(4_000)), '"}']
    const headers = {
      'content-type': 'application/json',
      ...(random.chance(0.5) && { 'content-length': pieces.join('').length }),
      ...(random.chance(0.3) && { expect: '100-continue' }),
    }
    const asked = await this.#open('POST', '/steady/upload', headers, async (write) => {
      for (const piece of pieces) {
        write(piece)
        await setTimeout(random.between(20, 250))
      }
    })
    this.#hold({ begun: asked.begun, reply: await replyOf(asked.response) }, { length: 24_000 })
  }

  async #stream(): Promise<void> {
    this.#holdText(await this.#get('/steady/stream'), 'y'.repeat(PIECES.count * PIECES.length))
  }

  /** Reads nothing for a while of a response that is larger than all buffers. */
  async #readSlowly(): Promise<void> {
    const { begun, response } = await this.#open('GET', '/steady/large', {})
    await setTimeout(this.#options.random.between(300, 1500))
    this.#holdText({ begun, reply: await replyOf(response) }, 'x'.repeat(LARGE))
  }

  async #readChanging(): Promise<void> {
    const { changing, random, timeline } = this.#options
    const id = random.oneOf(changing)
    const { begun, reply } = await this.#get(`/${id}`)
    timeline.saw(begun, id, servedIn(reply))
  }

  async #get(path: string): Promise<Asked> {
    const begun = this.#options.timeline.epoch
    return { begun, reply: await this.#caller.get(path) }
  }

  /** Sends a request piece by piece. @returns its response, with an unread body */
  async #open(
    method: 'GET' | 'POST',
    path: string,
    headers: OutgoingHttpHeaders,
    send?: (write: (piece: string) => void) => Promise<void>,
  ) {
    const begun = this.#options.timeline.epoch
    const sent = request(this.#options.url + path, { method, headers, agent: this.#agent })
    const responded = once(sent, 'response')
    // Awaited below; without this a broken connection would be an unhandled rejection.
    responded.catch(() => {})
    if (headers.expect !== undefined) await Promise.race([once(sent, 'continue'), responded])
    await send?.((piece) => void sent.write(piece))
    sent.end()
    const [response] = (await responded) as [IncomingMessage]
    return { begun, response }
  }

  /** Expects this response from an instance that could serve at the time and is not closed. */
  #hold({ begun, reply }: Asked, wanted: object, status = 200): void {
    const body = reply.status === status ? reply.json : {}
    const differs = Object.entries(wanted).some(([key, value]) => body[key] !== value)
    if (reply.status !== status || differs || body.closed !== false) {
      const got = `${reply.status} ${reply.text.slice(0, 300)}`
      throw new Error(`wanted ${status} ${JSON.stringify(wanted)}, got ${got}`)
    }
    this.#options.timeline.saw(begun, 'steady', String(body.instance))
  }

  #holdText({ begun, reply }: Asked, wanted: string): void {
    const [instance = '', text] = reply.text.split(' ')
    if (reply.status !== 200 || text !== wanted)
      throw new Error(
        `wanted 200 and ${wanted.length} characters, got ${reply.status} and ${text?.length ?? 0}`,
      )
    this.#options.timeline.saw(begun, 'steady', instance)
  }
}

/** Has one connection, which the host may not close. */
class OneConnection extends Agent {
  readonly #onClosed: () => void
  #mayClose = false

  constructor(onClosed: () => void) {
    super({ keepAlive: true, maxSockets: 1 })
    this.#onClosed = onClosed
  }

  override createConnection(...given: Parameters<Agent['createConnection']>) {
    this.#mayClose = false
    const socket = super.createConnection(...given)
    socket?.once('close', () => this.#mayClose || this.#onClosed())
    return socket
  }

  close(): void {
    this.#mayClose = true
    this.destroy()
  }
}

const replyOf = async (response: IncomingMessage) =>
  new Reply(response.statusCode ?? 0, response.headers, await text(response))
