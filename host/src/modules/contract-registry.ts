import type { ContractRegistry, Contracts } from '@mortise/module-sdk'
import type { Manifest } from '@mortise/module-sdk/host'
import type { StatementCheck } from '@mortise/storage'
import satisfies from 'semver/functions/satisfies.js'
import { ModuleError } from './host-module.ts'
import { checked } from './own-tables.ts'

type Side = Pick<Manifest, 'id' | 'provides' | 'requires' | 'optional' | 'operator'>

/**
 * The modules, every provider before its users and otherwise in the given order.
 * @throws {ModuleError} if a required contract has no provider, two providers, or a cycle; if two operate
 */
export function inContractOrder<Module extends { readonly manifest: Side }>(
  modules: readonly Module[],
): Module[] {
  refuseTwoProviders(modules)
  refuseTwoOperators(modules)
  const ordered: Module[] = []
  const visiting = new Set<Module>()
  const visit = (module: Module): void => {
    if (ordered.includes(module)) return
    const { id, requires = {}, optional = {} } = module.manifest
    if (visiting.has(module)) {
      const circle = [...visiting].slice([...visiting].indexOf(module)).map((one) => one.manifest.id)
      throw new ModuleError(
        id,
        `its contracts depend on each other in a circle: ${[...circle, id].join(' → ')}; make one of them optional, or use an event`,
      )
    }
    visiting.add(module)
    for (const [contract, range] of Object.entries({ ...optional, ...requires })) {
      const provider = providerOf(contract, range, modules)
      if (provider) visit(provider)
      else if (Object.hasOwn(requires, contract)) {
        throw new ModuleError(
          id,
          `it requires the contract "${contract}" (${range}), which no active module provides`,
        )
      }
    }
    visiting.delete(module)
    ordered.push(module)
  }
  modules.forEach(visit)
  return ordered
}

/** What a manifest says of a contract, whose name may be one that every object has, such as `constructor`. */
const own = (contracts: Readonly<Record<string, string>> = {}, name: string): string | undefined =>
  Object.hasOwn(contracts, name) ? contracts[name] : undefined

function providerOf<Module extends { readonly manifest: Side }>(
  contract: string,
  range: string,
  modules: readonly Module[],
): Module | undefined {
  return modules.find(({ manifest: { provides } }) => {
    const version = own(provides, contract)
    return version !== undefined && satisfies(version, range)
  })
}

/** Users of a contract expect one implementation, whatever its version. */
function refuseTwoProviders(modules: readonly { readonly manifest: Side }[]): void {
  const providers = new Map<string, string>()
  for (const { manifest } of modules) {
    for (const contract of Object.keys(manifest.provides ?? {})) {
      const first = providers.get(contract)
      if (first)
        throw new ModuleError(
          manifest.id,
          `it provides the contract "${contract}", which ${first} also provides`,
        )
      providers.set(contract, manifest.id)
    }
  }
}

function refuseTwoOperators(modules: readonly { readonly manifest: Side }[]): void {
  const [first, second] = modules.filter(({ manifest }) => manifest.operator)
  if (first !== undefined && second !== undefined)
    throw new ModuleError(second.manifest.id, `it operates the application, and so does ${first.manifest.id}`)
}

export class ContractBoard {
  readonly #offered = new Map<
    string,
    { version: string; implementation: unknown; provider: StatementCheck }
  >()

  /**
   * The contracts that one module may provide and get.
   * @param check of its statements
   */
  registryFor(
    { id, provides = {}, requires = {}, optional = {} }: Side,
    check: StatementCheck,
  ): ContractRegistry {
    const find = <Name extends keyof Contracts>(name: Name, range: string): Contracts[Name] | undefined => {
      const offer = this.#offered.get(name)
      if (offer === undefined || !satisfies(offer.version, range)) return undefined
      return checked(offer.implementation, offer.provider, check) as Contracts[Name]
    }
    return {
      provide: <Name extends keyof Contracts>(
        name: Name,
        version: string,
        implementation: Contracts[Name],
      ) => {
        if (own(provides, name) !== version) {
          throw new ModuleError(
            id,
            `it provides the contract "${name}" ${version}, which its manifest does not name`,
          )
        }
        this.#offered.set(name, { version, implementation, provider: check })
      },
      get: (name) => {
        const range = own(requires, name) ?? own(optional, name)
        if (range === undefined) {
          throw new ModuleError(id, `it uses the contract "${name}", which its manifest does not name`)
        }
        return find(name, range)
      },
      required: (name) => {
        const range = own(requires, name)
        const found = range === undefined ? undefined : find(name, range)
        if (found !== undefined) return found
        throw new ModuleError(
          id,
          range === undefined
            ? `it cannot do without the contract "${name}", so its manifest must list it in "requires"`
            : `the module that provides the contract "${name}" does not call contracts.provide`,
        )
      },
    }
  }
}
