import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'

/** An event from a stream. */
export interface Received {
  readonly id: string
  readonly type: string
  readonly subject: string
}

/** A response with Server-Sent Events. */
export interface Stream {
  readonly response: IncomingMessage
  /** Resolves when the stream has ended, for any reason. */
  readonly over: Promise<void>
  /** Ends the stream on this side. */
  drop(): void
}

/**
 * Opens a stream. `onBlock` gets the id of each complete block, and its event if it has one.
 * @throws {Error} without a connection, or for a status other than 200
 */
export async function openStream(
  url: string,
  headers: Readonly<Record<string, string>>,
  onBlock: (id: string, event: Received | undefined) => void,
): Promise<Stream> {
  const request = get(`${url}/event`, { agent: false, headers: { ...headers, accept: 'text/event-stream' } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  request.on('error', () => {})
  const drop = () => void request.destroy()
  if (response.statusCode !== 200) {
    drop()
    throw new Error(`a stream got ${response.statusCode}`)
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

function readBlock(block: string, onBlock: (id: string, event: Received | undefined) => void): void {
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
