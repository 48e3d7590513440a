// biome-ignore-all lint/suspicious/noExplicitAny: an engine responds to each step in that step's own shape

import type { Statement, Step, Transaction } from '@mortise/module-sdk'
import { Sql } from '@mortise/module-sdk/sql'
import {
  DatabaseError,
  type Emission,
  isEmission,
  isStatement,
  notAStep,
} from '@mortise/module-sdk/transaction'
import { notingSteps, placeOf } from '@mortise/module-sdk/unrun-steps'
import { LRUCache } from 'lru-cache'

const remedy = 'a transaction takes a generator: write transaction(function* () { … })'

/**
 * Starts the steps of a transaction.
 * @throws {TypeError} for anything but a generator; an async function, which would hold the write
 * lock while it waits, is not even called
 */
export function generatorOf<Result>(steps: () => Transaction<Result>): Transaction<Result> {
  if (kindOf(steps)?.startsWith('Async')) throw new TypeError(`${remedy}, not an async function`)
  const begun: unknown = typeof steps === 'function' ? steps() : undefined
  if (kindOf(begun) === 'Generator') return begun as Transaction<Result>
  // An unhandled rejection would end the process.
  if (begun instanceof Promise) begun.catch(() => {})
  throw new TypeError(remedy)
}

/** The language's name for the type of a value: `Generator`, `AsyncFunction`; undefined for most. */
export const kindOf = (value: unknown) =>
  (value as { readonly [Symbol.toStringTag]?: string } | null | undefined)?.[Symbol.toStringTag]

/**
 * Runs a generator to its end. The error of a step is thrown into it, and it may continue; after an
 * error that `ends` everything it stays where it is.
 * @throws {TypeError} for a step that was made and never run
 */
export function drive<Step, Result>(
  begin: () => Generator<Step, Result, any>,
  take: (step: Step) => unknown,
  ends: (error: unknown) => boolean,
): Result {
  const made: unknown[] = []
  return notingSteps(made, () => {
    const generator = begin()
    let next = generator.next()
    while (!next.done) {
      let result: unknown
      try {
        result = take(next.value)
      } catch (error) {
        if (ends(error)) throw error
        next = generator.throw(error)
        continue
      }
      next = generator.next(result)
    }
    assertAllRan(made)
    return next.value
  })
}

/** The same for asynchronous steps. */
export async function driveAsync<Step, Result>(
  begin: () => Generator<Step, Result, any>,
  take: (step: Step) => Promise<unknown>,
  ends: (error: unknown) => boolean,
): Promise<Result> {
  const made: unknown[] = []
  /** Other transactions run between the steps of this one. */
  const resume = <Value>(work: () => Value): Value => notingSteps(made, work)
  const generator = resume(begin)
  let next = resume(() => generator.next())
  while (!next.done) {
    let result: unknown
    try {
      result = await take(next.value)
    } catch (error) {
      if (ends(error)) throw error
      next = resume(() => generator.throw(error))
      continue
    }
    next = resume(() => generator.next(result))
  }
  assertAllRan(made)
  return next.value
}

function assertAllRan(made: readonly unknown[]): void {
  if (made.length === 0) return
  const [about] = made
  const what = about instanceof Sql ? `: ${about.strings.join('?').trim()}` : ` for the event "${about}"`
  throw new TypeError(`a transaction made a step and never ran it: write yield* before the step${what}`, {
    cause: placeOf(about),
  })
}

/**
 * Rows that transactions write by special steps, and that get positions in the order of their
 * commits.
 */
export interface Outbox {
  /**
   * The statement that writes the row of such a step.
   * @throws {Error} into the transaction
   */
  insertion(step: Emission): Sql
  /** Finds one committed row without a position, if any. */
  readonly unplaced: Sql
  /**
   * Gives some of those rows the next positions. Must not run in a serializable transaction, which
   * would conflict with every writing one.
   * @param isShared other hosts may do the same now, and want to hear of it
   * @returns whether there may be more
   */
  place(isShared: boolean): Transaction<boolean>
  /** The channel on which `place` notifies other hosts, with the name of the schema. */
  readonly channel: string
}

/** Whether a query, or its form for one engine, is for another engine alone. */
export const isEmpty = (query: Sql | undefined) => query?.strings?.length === 1 && query.strings[0] === ''

/** Converts the steps of transactions to statements. */
export class StepReader {
  readonly #outbox: Outbox | undefined
  /** A step has written to the outbox since this was last set to false. */
  wrote = false

  constructor(outbox: Outbox | undefined) {
    this.#outbox = outbox
  }

  /**
   * The statement of a step.
   * @throws {TypeError} for what a transaction yielded by mistake
   */
  read(step: Step): Statement {
    if (isStatement(step)) return step
    if (isEmission(step)) {
      if (this.#outbox === undefined) throw new TypeError('this database takes no events')
      const query = this.#outbox.insertion(step)
      this.wrote = true
      return { query, want: 'nothing' }
    }
    throw notAStep(step)
  }
}

/** How many texts a check remembers besides those of call sites. */
const COMPOSED = 500

/**
 * The step that passed last: another check around these steps has nothing more to say about it. A
 * static field of the class would cost each step more.
 */
let passed: Step | undefined

/** Decides about the statements of some code before they run, once about each distinct one. */
export class StatementCheck {
  readonly #refuse: (form: Sql) => string
  readonly #form: (query: Sql) => Sql
  readonly #bySite = new WeakMap<readonly string[], string>()
  readonly #byText = new LRUCache<string, string>({ max: COMPOSED })

  /**
   * @param refuse why a statement may not run; '' for one that may
   * @param form the form of a query that the engine runs
   */
  constructor(refuse: (form: Sql) => string, form: (query: Sql) => Sql = (query) => query) {
    this.#refuse = refuse
    this.#form = form
  }

  /** Undefined for a statement that may run. Anything but a query is the engine's to refuse. */
  refusal(query: Sql | undefined): DatabaseError | undefined {
    if (!Array.isArray(query?.strings)) return undefined
    const form = this.#form(query)
    try {
      const reason = this.#bySite.get(form.strings) ?? this.#judge(form)
      return reason ? new DatabaseError('refused', reason) : undefined
    } catch (error) {
      // Of invalid SQL, which may become valid.
      if (error instanceof DatabaseError) return error
      throw error
    }
  }

  #judge(form: Sql): string {
    const { strings } = form
    const text = strings.join('?')
    const reason = this.#byText.get(text) ?? this.#refuse(form)
    this.#byText.set(text, reason)
    this.#bySite.set(strings, reason)
    return reason
  }

  /** The same function; the steps that it returns are checked. */
  of<Make>(make: Make): Make {
    // The host refuses an async function by its kind.
    if (typeof make !== 'function' || kindOf(make)?.startsWith('Async')) return make
    const pass = (step: Step) => this.#pass(step)
    const checking = function (this: unknown, ...given: unknown[]): unknown {
      const made: unknown = make.apply(this, given)
      return kindOf(made) === 'Generator' ? lookAt(made as Transaction<unknown>, pass) : made
    }
    return checking as Make
  }

  #pass(step: Step): void {
    if (step === passed) return
    if (isStatement(step)) {
      const refusal = this.refusal(step.query)
      if (refusal !== undefined) throw refusal
    } else if (!isEmission(step)) {
      throw notAStep(step)
    }
    passed = step
  }
}

/** The same steps. `look` sees each one before it runs, and its error is thrown into them. */
export function* lookAt<Result>(
  steps: Pick<Transaction<Result>, 'next' | 'throw'>,
  look: (step: Step) => void,
): Transaction<Result> {
  let next = steps.next()
  while (!next.done) {
    let result: unknown
    try {
      look(next.value)
      result = yield next.value
    } catch (error) {
      next = steps.throw(error)
      continue
    }
    next = steps.next(result)
  }
  return next.value
}
