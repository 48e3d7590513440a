import { Child } from './child.ts'

/** A host in a separate process that can be killed and restarted. */
export class KillableHost {
  readonly #file: URL
  readonly #options: object
  #child: Child | undefined
  /** The host's URL, or its last URL while it is down. */
  url = ''

  /**
   * @param file a module that serves its parent
   * @param options its options
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

  /** Sends SIGKILL at any moment, and starts the host again. */
  async killAndStart(): Promise<void> {
    await this.#child?.kill()
    await this.start()
  }

  async stop(): Promise<void> {
    await this.#child?.stop()
  }
}
