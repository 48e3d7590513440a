/** A running server. */
export interface Serving {
  readonly url: string
  close(): Promise<unknown>
}

export interface Usage {
  /** CPU time of the process so far, in microseconds. */
  readonly cpu: number
}

/**
 * Makes this process a server for its parent. The first message has the options, and the answer is
 * the `url`. The answer to every further message is the `Usage`. The process ends when the parent
 * disconnects.
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
