import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Test } from 'tap'

export interface Message {
  readonly id: string
  readonly event: string
  readonly data: { readonly id: string; readonly subject: string; readonly data: unknown }
}

/** Reads a stream of Server-Sent Events as a browser does: `lastEventId` is what it would come back with. */
export class StreamReader {
  readonly response: IncomingMessage
  readonly messages: Message[] = []
  heartbeats = 0
  lastEventId = ''
  retry = 0
  /** Whether it was ended by the server, in good order. */
  readonly ended: Promise<boolean>
  #text = ''
  #changed = Promise.withResolvers<void>()

  private constructor(response: IncomingMessage) {
    this.response = response
    response.setEncoding('utf8').on('data', (text: string) => this.#read(text))
    response.on('error', () => {})
    this.ended = new Promise((resolve) => response.once('close', () => resolve(response.complete)))
  }

  static async open(
    t: Test,
    url: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<StreamReader> {
    const request = get(url, { headers: { accept: 'text/event-stream', ...headers }, agent: false })
    t.teardown(() => request.destroy())
    const [response] = await once(request, 'response')
    return new StreamReader(response)
  }

  /** Resolves when as many messages have come. */
  async count(messages: number): Promise<readonly Message[]> {
    await this.until(() => this.messages.length >= messages)
    return this.messages
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await this.#changed.promise
  }

  /** All of a response that is no stream. */
  text = async (): Promise<string> => {
    await this.ended
    return this.#text
  }

  close(): void {
    this.response.destroy()
  }

  #read(text: string): void {
    this.#text += text
    const blocks = this.#text.split('\n\n')
    this.#text = blocks.pop() ?? ''
    for (const block of blocks) this.#readBlock(block)
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  #readBlock(block: string): void {
    if (block.startsWith(':')) this.heartbeats += 1
    const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s)))
    if (fields.id !== undefined) this.lastEventId = fields.id
    if (fields.retry !== undefined) this.retry = Number(fields.retry)
    if (fields.data !== undefined) {
      this.messages.push({ id: fields.id, event: fields.event, data: JSON.parse(fields.data) })
    }
  }
}
