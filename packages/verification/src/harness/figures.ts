/** Values that must not keep growing in a long-running process. */
export interface Figures {
  /** Bytes of JavaScript objects, after garbage collection. */
  readonly heap: number
  /** Fastify instances in memory: the serving one and the control socket's. */
  readonly instances: number
  /** Timers, servers, watchers and the like, without connections. */
  readonly handles: number
  /** Listeners on the process, and on its servers. */
  readonly listeners: number
  /** Event emitters in memory, without connections. */
  readonly emitters: number
  /** Open files and sockets; undefined if the system does not report them. */
  readonly descriptors: number | undefined
}

/** The figures of a process, and the number of packages loaded at that time. */
export interface Sample extends Figures {
  readonly step: number
  readonly packages: number
}
