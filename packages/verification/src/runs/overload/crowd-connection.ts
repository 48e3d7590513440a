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
