import { AsyncLocalStorage } from 'node:async_hooks'

// What `watch-process.ts` sees. This file changes nothing by itself.

export interface Seen {
  readonly what: 'network' | 'process' | 'environment' | 'import'
  /** The host, the command, the variable or the package. */
  readonly name: string
  /** The phase at that moment. */
  readonly during: string
  readonly stack: string
}

export const seen: Seen[] = []
/** What the module does: in the steps of a transaction, in a request and what follows from it, and otherwise. */
let inSteps = false
const request = new AsyncLocalStorage<{ readonly name: string; readonly steps: string[] }>()
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
export const inRequest = <Result>(method: string, steps: string[], work: () => Result): Result =>
  request.run({ name: method === 'GET' ? 'a GET' : 'a request', steps }, work)

/** For the steps of a transaction that begins now: others may run in the same turn. */
export function stepsOfRequest(): (text: string) => void {
  const store = request.getStore()
  return (text) => store?.steps.push(text)
}

export const startServing = (): void => {
  otherwise = 'a request'
}

/** What may be connected to, as `host:port`: the database server of the check. */
export const allowed = new Set<string>()

/** What keeps living until someone ends it: its type and the stack of its creation, by async id. */
export const living = new Map<number, { type: string; stack: string }>()
