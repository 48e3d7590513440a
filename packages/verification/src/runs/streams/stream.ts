import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'

/** An event as a stream has told it. */
export interface Told {
  readonly id: string
  readonly type: string
  readonly subject: string
}

/** A response with Server-Sent Events. */
export interface Stream {
  readonly response: IncomingMessage
  /** Resolves when it is over, in whichever way. */
  readonly over: Promise<void>
  /** Ends it on this side. */
  drop(): void
}

/**
 * Opens a stream. `onBlock` gets each block that came whole: its id, and the event where it has one.
 * @throws {Error} where there is no connection, or another answer than 200
 */
export async function openStream(
  url: string,
  headers: Readonly<Record<string, string>>,
  onBlock: (id: string, told: Told | undefined) => void,
): Promise<Stream> {
  const request = get(`${url}/event`, { agent: false, headers: { ...headers, accept: 'text/event-stream' } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  request.on('error', () => {})
  const drop = () => void request.destroy()
  if (response.statusCode !== 200) {
    drop()
    throw new Error(`a stream was answered with ${response.statusCode}`)
  }
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const blocks = (text + chunk).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) readBlock(block, onBlock)
  })
  response.on('error', () => {})
  return { response, over: new Promise((resolve) => response.once('close', resolve)), drop }
}

function readBlock(block: string, onBlock: (id: string, told: Told | undefined) => void): void {
  const fields = Object.fromEntries(
    block.split('\n').map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon), line.slice(colon + 2)]
    }),
  )
  if (fields.id === undefined) return
  const { type, subject } = JSON.parse(fields.data ?? '{}')
  onBlock(fields.id, fields.data === undefined ? undefined : { id: fields.id, type, subject })
}
