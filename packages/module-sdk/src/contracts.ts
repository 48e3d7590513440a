/**
 * The contracts that modules know each other by: name to type. The package that provides one adds it by declaration
 * merging. Who uses it names a range of versions in the manifest (`requires`, `optional`).
 */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Contracts {}

/** What a module offers to others, and gets of them; only what its manifest declares. */
export interface ContractRegistry {
  /** Offers `implementation` to other modules. @param version of the contract, such as `1.0.0` */
  provide<Name extends keyof Contracts>(name: Name, version: string, implementation: Contracts[Name]): void
  /** The implementation of a contract of `requires`; of `optional`, undefined where no module provides it. */
  get<Name extends keyof Contracts>(name: Name): Contracts[Name] | undefined
}
