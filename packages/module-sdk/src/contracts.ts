import type { CartContract } from './cart-contract.ts'

/**
 * The contracts that modules know each other by: name to type. The package that defines another one adds it
 * by declaration merging; versions are ranges in the manifests (`provides`, `requires`, `optional`).
 */
export interface Contracts {
  cart: CartContract
}

/** What a module offers to others, and gets of them; only what its manifest declares. */
export interface ContractRegistry {
  /** Offers `implementation` under a name of the manifest's `provides`. */
  provide<Name extends keyof Contracts>(name: Name, implementation: Contracts[Name]): void
  /** The implementation of a contract of `requires`; of `optional`, undefined where no module provides it. */
  get<Name extends keyof Contracts>(name: Name): Contracts[Name] | undefined
}
