/** What one client did, and when, by one monotonic clock. */
export interface Operation<Input, Output> {
  readonly input: Input
  /** Undefined without a response: it may have happened, at any time after the call. */
  readonly output: Output | undefined
  readonly called: number
  /** Infinity without a response. */
  readonly returned: number
}

/** What one operation after the other would do. States are never changed, and the one that stays the same is the same object. */
export interface Model<State extends object, Input, Output> {
  readonly initial: State
  /** The state after the operation; undefined where it would not have had a response like that. */
  step(state: State, input: Input, output: Output | undefined): State | undefined
  /** Whether an operation with this response changes no state whatever. */
  isRead(input: Input, output: Output): boolean
  /** Whether this response cannot be given in this state, nor in any that follows it: spares the search what leads nowhere. */
  isPast(state: State, input: Input, output: Output): boolean
}

export interface Verdict<State, Input, Output> {
  /** Undefined where the search was given up. */
  readonly linearizable: boolean | undefined
  /** The most operations that some order explains. */
  readonly explained: number
  /** Where it is not linearizable: the state after those, and the operations that are left; none of them can be next. */
  readonly state?: State
  readonly next?: readonly Operation<Input, Output>[]
}

/** Configurations after which a search is given up. */
const LIMIT = 2_000_000

class GivenUp extends Error {}

/**
 * Whether some order of the operations, each at a moment between its call and its response, is one that the model
 * gives these responses in (Herlihy and Wing). The search is that of Wing and Gong, with Lowe's memory of the pairs of operations
 * done and state that lead nowhere.
 */
export function checkHistory<State extends object, Input, Output>(
  model: Model<State, Input, Output>,
  history: readonly Operation<Input, Output>[],
  limit = LIMIT,
): Verdict<State, Input, Output> {
  const operations = history.toSorted((one, other) => one.called - other.called)
  const done = new Uint8Array(operations.length)
  const known = new Set<string>()
  const keys = new WeakMap<State, string>()
  const responded = operations.filter(({ output }) => output !== undefined).length
  let explained = 0
  let furthest: { state: State; next: Operation<Input, Output>[] } | undefined

  const at = (index: number) => operations[index] as Operation<Input, Output>
  const after = (state: State, index: number) => model.step(state, at(index).input, at(index).output)

  const isRead = (index: number) => {
    const { input, output } = at(index)
    return output !== undefined && model.isRead(input, output)
  }

  const isDeadEnd = (state: State, first: number) =>
    operations.some(
      ({ input, output }, index) =>
        index >= first && !done[index] && output !== undefined && model.isPast(state, input, output),
    )

  const keyOf = (state: State, first: number) => {
    let key = keys.get(state)
    if (key === undefined) {
      key = JSON.stringify(state)
      keys.set(state, key)
    }
    const last = done.lastIndexOf(1)
    return `${first}:${first <= last ? done.subarray(first, last + 1).join('') : ''}:${key}`
  }

  /** Those that may be next: called before any that is not done had a response. */
  const candidates = (first: number): number[] => {
    const found: number[] = []
    let soonest = Number.POSITIVE_INFINITY
    for (let index = first; index < operations.length && at(index).called <= soonest; index++) {
      if (done[index]) continue
      soonest = Math.min(soonest, at(index).returned)
      found.push(index)
    }
    return found
  }

  /** Does those that only read: whatever order there is, there is one in which they come at once. */
  const doReads = (state: State, from: number, taken: number[]) => {
    let first = from
    for (;;) {
      while (done[first]) first += 1
      const next = candidates(first)
      const reads = next.filter((index) => isRead(index) && after(state, index) === state)
      if (reads.length === 0) return { first, next }
      for (const index of reads) done[index] = 1
      taken.push(...reads)
    }
  }

  const explore = (state: State, from: number, count: number): boolean => {
    const taken: number[] = []
    const { first, next } = doReads(state, from, taken)
    const now = count + taken.length
    if (now === responded) return true
    if (now > explained || furthest === undefined) {
      explained = now
      furthest = { state, next: next.map(at) }
    }
    const key = keyOf(state, first)
    if (!known.has(key) && !isDeadEnd(state, first)) {
      if (known.size === limit) throw new GivenUp()
      known.add(key)
      for (const index of next.sort((one, other) => at(one).returned - at(other).returned)) {
        const changed = after(state, index)
        const hasResponse = at(index).output !== undefined
        if (changed === undefined || (changed === state && !hasResponse)) continue
        done[index] = 1
        if (explore(changed, first, now + (hasResponse ? 1 : 0))) return true
        done[index] = 0
      }
    }
    for (const index of taken) done[index] = 0
    return false
  }

  try {
    if (explore(model.initial, 0, 0)) return { linearizable: true, explained: responded }
    return { linearizable: false, explained, ...furthest }
  } catch (error) {
    if (!(error instanceof GivenUp)) throw error
    return { linearizable: undefined, explained, ...furthest }
  }
}
