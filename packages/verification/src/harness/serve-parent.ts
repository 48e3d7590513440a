/** A server that runs. */
export interface Serving {
  readonly url: string
  close(): Promise<unknown>
}

export interface Usage {
  /** CPU time of the process so far, in microseconds. */
  readonly cpu: number
}

/**
 * Makes this process a server for its parent: the first message has the options and is answered with the
 * `url`, each further one is answered with the `Usage`. It ends when the parent lets go.
 */
export function serveParent<Options>(start: (options: Options) => Promise<Serving>): void {
  let serving: Promise<Serving> | undefined
  process.on('message', (options: Options) => {
    if (serving) {
      const { user, system } = process.cpuUsage()
      process.send?.({ cpu: user + system } satisfies Usage)
      return
    }
    serving = start(options)
    serving.then(({ url }) => process.send?.({ url }))
  })
  process.once('disconnect', () => serving?.then((server) => server.close()))
}
