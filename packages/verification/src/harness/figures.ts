/** What a process that runs for long must not have more and more of. */
export interface Figures {
  /** Bytes of JavaScript objects, after garbage collection. */
  readonly heap: number
  /** Fastify instances in memory: the one that serves, and that of the control socket. */
  readonly instances: number
  /** Timers, servers, watchers and the like, connections apart. */
  readonly handles: number
  /** Listeners on the process, and on its servers. */
  readonly listeners: number
  /** Event emitters in memory, connections apart. */
  readonly emitters: number
  /** Open files and sockets; undefined where the system does not tell. */
  readonly descriptors: number | undefined
}

/** What the process holds, and how many packages it had loaded by then. */
export interface Sample extends Figures {
  readonly step: number
  readonly switches: number
  readonly packages: number
}
