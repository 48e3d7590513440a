import { Child } from '../child.ts'

/** A host in a process of its own, which can be killed and comes back. */
export class TwinHost {
  readonly #directory: string
  #child: Child | undefined
  /** Where it serves; where it did, while it is away. */
  url = ''

  constructor(directory: string) {
    this.#directory = directory
  }

  async start(): Promise<void> {
    const child = new Child('host-server')
    this.#child = child
    this.url = (await child.ask<{ url: string }>({ directory: this.#directory })).url
  }

  /** SIGKILL, wherever it is, and a start. */
  async killAndStart(): Promise<void> {
    await this.#child?.kill()
    await this.start()
  }

  async stop(): Promise<void> {
    await this.#child?.stop()
  }
}
