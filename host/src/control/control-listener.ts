import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import { acquireFileLock, type FileLock, StorageBusyError } from '@mortise/storage'
import { http } from '../http/node-http.ts'
import { controlSocket, hostLockFile, type Place } from './control-socket.ts'
import { pidFile } from './host-process.ts'
import { PHASE_HEADER, type Phase } from './phase.ts'

/** How often a request that waits or is in progress gets a sign of life, in milliseconds. */
const SIGN_INTERVAL = 1_000

/**
 * The control socket of a host. It is there before the host reads what it serves, and until it
 * serves nothing any more, so a command that finds no socket knows that no process serves an older
 * generation than the one in modules.lock.json.
 *
 * Before the host serves and while it ends, requests wait without `100 Continue`, with signs of life.
 * A host that ends then has begun none of them.
 */
export class ControlListener {
  readonly #server: Server
  readonly #lock: FileLock
  readonly #waiting = new Map<ServerResponse, () => void>()
  readonly #timer: NodeJS.Timeout
  #phase: Phase | undefined = 'starting'
  #listener: RequestListener | undefined
  #begun = 0
  #idle: (() => void) | undefined
  #closed: Promise<void> | undefined

  private constructor(lock: FileLock) {
    this.#lock = lock
    this.#server = http.createServer({ requestTimeout: 0 }, (request, response) =>
      this.#take(request, response),
    )
    this.#server.on('checkContinue', (request, response) => this.#take(request, response))
    this.#timer = setInterval(() => {
      for (const response of this.#waiting.keys()) this.#sign(response)
    }, SIGN_INTERVAL).unref()
  }

  /**
   * Claims a place in the application in `directory` for this process and opens its socket, for this
   * user alone. Replaces the socket of a dead process.
   * @throws {StorageBusyError} if another process has it
   */
  static async open(directory: string, place: Place = 'host'): Promise<ControlListener> {
    const socket = controlSocket(directory, place)
    const folder = dirname(socket)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // Fails, as it should, for a folder of another user.
    await chmod(folder, 0o700)
    const lock = acquireFileLock(hostLockFile(directory, place))
    if (lock === undefined) throw new StorageBusyError(`another host runs the application in ${directory}`)
    const listener = new ControlListener(lock)
    try {
      await rm(socket, { force: true })
      await writeFile(pidFile(socket), `${process.pid}`, { mode: 0o600 })
      listener.#server.once('close', () => drop(pidFile(socket)))
      // Otherwise a worker's supervisor would accept for it.
      listener.#server.listen({ path: socket, exclusive: true })
      await once(listener.#server, 'listening')
      await chmod(socket, 0o600)
      return listener
    } catch (error) {
      await listener.close()
      throw error
    }
  }

  /** From now on `listener` responds, also to the requests that wait. */
  serve(listener: RequestListener): void {
    this.#listener = listener
    this.#phase = undefined
    for (const begin of this.#waiting.values()) begin()
    this.#waiting.clear()
  }

  /** From now on requests wait for the end of the process. */
  hold(): void {
    this.#phase = 'stopping'
  }

  /** Resolves when no request is in progress. */
  idle(): Promise<void> {
    if (this.#begun === 0) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#idle = resolve
    return promise
  }

  /** Call it when this host serves nothing any more. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    this.#server.closeAllConnections()
    if (this.#server.listening) await promise
    this.#lock.release()
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#phase === undefined) {
      this.#begin(request, response)
      return
    }
    this.#waiting.set(response, () => this.#begin(request, response))
    response.once('close', () => this.#waiting.delete(response))
    this.#sign(response)
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#begun += 1
    const timer = setInterval(() => {
      if (response.headersSent) clearInterval(timer)
      else response.writeProcessing()
    }, SIGN_INTERVAL)
    response.once('close', () => {
      clearInterval(timer)
      this.#begun -= 1
      if (this.#begun === 0) this.#idle?.()
    })
    if (request.headers.expect !== undefined) response.writeContinue()
    this.#listener?.(request, response)
  }

  /** `writeProcessing` of Node sends no headers. */
  #sign({ socket }: ServerResponse): void {
    socket?.write(`HTTP/1.1 102 Processing\r\n${PHASE_HEADER}: ${this.#phase}\r\n\r\n`)
  }
}

/** On a disk that fails it stays, as after a kill. */
function drop(file: string): void {
  try {
    rmSync(file, { force: true })
  } catch {}
}
