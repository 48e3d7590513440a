import { Child } from './child.ts'

/** A host in a process of its own, which can be killed and comes back. */
export class KillableHost {
  readonly #file: URL
  readonly #options: object
  #child: Child | undefined
  /** Where it serves; where it did, while it is away. */
  url = ''

  /**
   * @param file a module that serves its parent
   * @param options what it is to serve
   */
  constructor(file: URL, options: object) {
    this.#file = file
    this.#options = options
  }

  async start(): Promise<void> {
    const child = new Child(this.#file)
    this.#child = child
    this.url = (await child.ask<{ url: string }>(this.#options)).url
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
