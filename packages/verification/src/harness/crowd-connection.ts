import { connect, type Socket } from 'node:net'

export interface Reply {
  readonly status: number
  /** The head, in lower case. */
  readonly head: string
  readonly body: string
}

/** One connection of a crowd: cheaper than an HTTP client, which would need the cores that the host has. */
export class CrowdConnection {
  readonly #port: number
  readonly #localAddress: string
  #socket: Socket | undefined
  #received = ''
  #waiting: PromiseWithResolvers<Reply> | undefined

  constructor(port: number, localAddress = '127.0.0.1') {
    this.#port = port
    this.#localAddress = localAddress
  }

  /** Sends a request and resolves to its response. @throws {Error} where the connection ended before: it may have been done */
  ask(request: string): Promise<Reply> {
    this.#socket ??= this.#open()
    this.#received = ''
    this.#waiting = Promise.withResolvers<Reply>()
    this.#socket.write(request)
    return this.#waiting.promise
  }

  close(): void {
    this.#socket?.destroy()
  }

  #open(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', localAddress: this.#localAddress })
    socket.setNoDelay(true).setEncoding('latin1')
    socket.on('data', (text) => this.#take(String(text)))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#socket = undefined
      this.#waiting?.reject(new Error('the connection ended'))
      this.#waiting = undefined
    })
    return socket
  }

  #take(text: string): void {
    this.#received += text
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = this.#received.slice(0, end).toLowerCase()
    const length = Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0)
    if (this.#received.length < end + 4 + length) return
    const waiting = this.#waiting
    this.#waiting = undefined
    if (/\r\nconnection: close/.test(head)) {
      this.#socket?.removeAllListeners('close').destroy()
      this.#socket = undefined
    }
    waiting?.resolve({ status: Number(head.slice(9, 12)), head, body: this.#received.slice(end + 4) })
  }
}

/** The requests of a crowd, and of callers beside one. */
export const reading = (token: string) =>
  `GET /cart HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`

export function addition(token: string, product: number): string {
  const body = `{"product":"p${product}","quantity":1}`
  return `POST /cart/item HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

/** @returns the token of a new guest */
export async function newGuest(connection: CrowdConnection): Promise<string> {
  const { status, body } = await connection.ask(
    'POST /guest HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n',
  )
  if (status !== 201) throw new Error(`a guest was refused: ${status} ${body}`)
  return JSON.parse(body).token
}
