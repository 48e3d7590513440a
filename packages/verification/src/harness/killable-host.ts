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

  /** @param more options, for this start */
  async start(more: object = {}): Promise<void> {
    const child = new Child(this.#file)
    this.#child = child
    this.url = (await child.ask<{ url: string }>({ ...this.#options, ...more })).url
  }

  async send(message: object): Promise<void> {
    await this.#child?.ask(message)
  }

  /** Sends SIGKILL at any moment, and starts the host again. @param between work while it is down */
  async killAndStart(more?: object, between?: () => Promise<unknown>): Promise<void> {
    await this.#child?.kill()
    await between?.()
    await this.start(more)
  }

  async stop(): Promise<void> {
    await this.#child?.stop()
  }
}
