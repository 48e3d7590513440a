// For the engine, the probe and the test kit. A step that a part of a transaction has made and never
// begun is forgotten: someone left out `yield*`. What is noted is private to this file.

/** The steps of the running part of a transaction, by what they are about; undefined outside of one. */
let unrun: unknown[] | undefined
/** Where each step was made; undefined, unless it is worth what it costs. */
let places: Map<unknown, Error> | undefined

/** Notes that a step about a query, or an event type, was made. */
export function noteMade(about: unknown): void {
  unrun?.push(about)
  places?.set(about, new Error('the step was made here'))
}

/** Notes that it begins. Nearly always it was made last. */
export function noteBegun(about: unknown): void {
  places?.delete(about)
  const steps = unrun
  if (steps === undefined) return
  if (steps.at(-1) === about) {
    steps.pop()
    return
  }
  const index = steps.lastIndexOf(about)
  if (index >= 0) steps.splice(index, 1)
}

/** Runs a part of a transaction. `steps` has its steps that were made and not begun so far. */
export function notingSteps<Value>(steps: unknown[], work: () => Value): Value {
  const outer = unrun
  unrun = steps
  try {
    return work()
  } finally {
    unrun = outer
  }
}

/** Remembers from now on where steps are made, which takes time: for tests and the probe. */
export function rememberPlaces(): void {
  places ??= new Map()
}

/** An error with the place where a step was made, if places are remembered. */
export const placeOf = (about: unknown): Error | undefined => places?.get(about)
