import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface Reply {
  readonly status: number
  readonly body: string
}

interface Waiting {
  readonly resolve: (response: Reply) => void
  readonly reject: (error: Error) => void
}

/** The longest idle time before reuse, in milliseconds: the host closes a connection after 10 s. */
const IDLE_LIMIT = 8_000

/**
 * A keep-alive HTTP/1.1 connection that detects truncated and unexpected responses, and an unexpected
 * close. Responses come in the order of the requests, so several requests can be in progress.
 */
export class Connection {
  readonly #socket: Socket
  readonly #waiting: Waiting[] = []
  #received: Buffer[] = []
  #size = 0
  /** The known minimum of bytes for the next response. */
  #needed = 0
  #broken: Error | undefined
  #used = Date.now()

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes) => {
      try {
        this.#take(bytes)
      } catch (error) {
        this.#break(error as Error)
      }
    })
    socket.on('error', (error) => this.#break(error))
    socket.on('close', () => this.#break(new Error('the host closed the connection')))
  }

  /** The present connection, or a new one if it was idle for too long. */
  static async open(port: number, known?: Connection): Promise<Connection> {
    if (known && Date.now() - known.#used < IDLE_LIMIT) return known
    known?.close()
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    return new Connection(socket)
  }

  /** Sends bytes of a request; `response` returns its response. */
  send(bytes: string): void {
    this.#socket.write(bytes)
  }

  /** Sends a whole request. @returns its response */
  ask(bytes: string): Promise<Reply> {
    const response = this.nextReply()
    this.send(bytes)
    return response
  }

  /** The next response without a waiting caller. @throws {Error} if it is missing or incomplete */
  nextReply(): Promise<Reply> {
    if (this.#broken) return Promise.reject(this.#broken)
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    this.#waiting.push({ resolve, reject })
    return promise
  }

  /** Reads nothing until `resume`, so the host must buffer. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  close(): void {
    this.#broken ??= new Error('this connection was closed here')
    this.#socket.destroy()
  }

  #break(error: Error): void {
    this.#broken ??= error
    for (const { reject } of this.#waiting.splice(0)) reject(this.#broken)
    this.#socket.destroy()
  }

  #take(bytes: Buffer): void {
    this.#received.push(bytes)
    this.#size += bytes.length
    if (this.#size < this.#needed) return
    let rest = Buffer.concat(this.#received)
    this.#needed = 0
    for (;;) {
      const read = readResponse(rest)
      if (typeof read === 'number') {
        this.#needed = read
        break
      }
      rest = rest.subarray(read.size)
      if (read.response.status === 100) continue
      const waiting = this.#waiting.shift()
      if (waiting === undefined) throw new Error(`an unexpected response (${read.response.status})`)
      this.#used = Date.now()
      waiting.resolve(read.response)
      if (read.closes) throw new Error('the host announced that it closes the connection')
    }
    this.#received = [rest]
    this.#size = rest.length
  }
}

interface Read {
  readonly response: Reply
  readonly closes: boolean
  /** In bytes. */
  readonly size: number
}

/** The first response in `bytes`, or the least size of an incomplete one. */
function readResponse(bytes: Buffer): Read | number {
  const end = bytes.indexOf('\r\n\r\n') + 4
  if (end === 3) return bytes.length + 1
  const [statusLine = '', ...fields] = bytes.toString('latin1', 0, end - 4).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
  if (Number.isNaN(status)) throw new Error(`not a response: ${statusLine}`)
  if (status === 100) return { response: { status, body: '' }, closes: false, size: end }
  const head = new Map(fields.map((field) => [nameOf(field), field.slice(field.indexOf(':') + 1).trim()]))
  const isChunked = head.get('transfer-encoding') === 'chunked'
  const body = isChunked ? readChunks(bytes, end) : readLength(bytes, end, head.get('content-length'))
  if (typeof body === 'number') return body
  return { response: { status, body: body.text }, closes: head.get('connection') === 'close', size: body.end }
}

const nameOf = (field: string) => field.slice(0, field.indexOf(':')).toLowerCase()

interface Body {
  readonly text: string
  /** The start of the next response. */
  readonly end: number
}

function readLength(bytes: Buffer, start: number, header: string | undefined): Body | number {
  const end = start + Number(header)
  if (header === undefined || Number.isNaN(end)) throw new Error('a response without a length')
  return bytes.length < end ? end : { text: bytes.toString('utf8', start, end), end }
}

function readChunks(bytes: Buffer, start: number): Body | number {
  let text = ''
  for (let at = start; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line === -1) return bytes.length + 1
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (Number.isNaN(size)) throw new Error('a chunk without a size')
    const end = line + 2 + size
    if (bytes.length < end + 2) return end + 2
    text += bytes.toString('utf8', line + 2, end)
    at = end + 2
    if (size === 0) return { text, end: at }
  }
}
