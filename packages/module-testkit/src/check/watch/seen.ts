import { AsyncLocalStorage } from 'node:async_hooks'
import type { Sql } from '@mortise/module-sdk'

// What `watch-process.ts` sees. This file changes nothing by itself.

export interface Seen {
  readonly what: 'network' | 'process' | 'environment' | 'import' | 'file' | 'timer'
  /** The host, the command, the variable, the package or the path. */
  readonly name: string
  /** The phase at that moment. */
  readonly during: string
  readonly stack: string
  /** The id of the job that is done then. */
  readonly job?: string | undefined
  /** What `fetch` would send: the method, then everything else. */
  readonly method?: string
  readonly sent?: string
}

/** One step of a read or a transaction. */
export interface SeenStep {
  /** The statement, or `event TYPE`. */
  readonly text: string
  /** Outside of a transaction. */
  readonly alone: boolean
  /** Declared as a long read. */
  readonly long?: boolean | undefined
  readonly query?: Sql | undefined
  /** The emitted event. */
  readonly event?: unknown
  /** The number of changed rows, or what was read; undefined if nobody asked. */
  result?: unknown
}

export const seen: Seen[] = []
/** What the module does: in the steps of a transaction, in a request and what follows from it, and otherwise. */
let inSteps = false
const request = new AsyncLocalStorage<{ readonly name: string; readonly steps: SeenStep[] }>()
const job = new AsyncLocalStorage<string>()
/** The id of the job that this code belongs to. */
export const jobInHand = () => job.getStore()
export const inJob = <Result>(id: string, work: () => Result): Result => job.run(id, work)
let otherwise = 'its loading'
export const phase = () => (inSteps ? 'a transaction' : (request.getStore()?.name ?? otherwise))

/** Runs a part of the steps of a transaction, which are synchronous. */
export function inTransaction<Result>(work: () => Result): Result {
  const before = inSteps
  inSteps = true
  try {
    return work()
  } finally {
    inSteps = before
  }
}

/** @param steps gets the statements and events of the request; background work has none */
export const inRequest = <Result>(method: string, steps: SeenStep[], work: () => Result): Result =>
  request.run({ name: method === 'GET' ? 'a GET' : 'a request', steps }, work)

/** For the steps of a transaction that begins now: others may run in the same turn. */
export function stepsOfRequest(): (step: SeenStep) => void {
  const store = request.getStore()
  return (step) => store?.steps.push(step)
}

export const startServing = (): void => {
  otherwise = 'a request'
}

/** What may be connected to, as `host:port`: the database server of the check. */
export const allowed = new Set<string>()

/** What keeps living until someone ends it: its type and the stack of its creation, by async id. */
export const living = new Map<number, { type: string; stack: string }>()
