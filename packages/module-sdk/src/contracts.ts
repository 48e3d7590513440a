import { Problem } from './problem.ts'
import type { Transaction } from './transaction.ts'

/**
 * The contracts between modules: name to type. The package that provides a contract adds it by
 * declaration merging. A module that uses it names a version range in its manifest (`requires`,
 * `optional`).
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Contracts {}

/** Contracts that a module provides and uses. The manifest must declare each one. */
export interface ContractRegistry {
  /**
   * Offers `implementation` to other modules: one function, or an object of functions. Their steps
   * run in the name of this module, and name its tables.
   * @param version version of the contract, such as `1.0.0`
   */
  provide<Name extends keyof Contracts>(name: Name, version: string, implementation: Contracts[Name]): void
  /**
   * The implementation of a contract. Undefined if the manifest lists the contract as `optional`
   * and no module provides it.
   */
  get<Name extends keyof Contracts>(name: Name): Contracts[Name] | undefined
  /** The implementation of a contract that the manifest lists as `requires`. */
  required<Name extends keyof Contracts>(name: Name): Contracts[Name]
}

/**
 * Steps of another module for which your callers get no problem: one that they throw is a defect of
 * that module, and the response is 500. Otherwise it would be the response of your route.
 * @param who throws it, for the log: `the contract pricing`
 */
export function* withoutProblems<Result>(who: string, steps: Transaction<Result>): Transaction<Result> {
  try {
    return yield* steps
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    throw new Error(`${who} threw the problem ${error.code} of ${error.module}`, { cause: error })
  }
}
