import { inContractOrder, ModuleError, type ModulePackage } from '@mortise/host'
import semver from 'semver'
import { contractConflict, contractMissing, type Failure } from '../../../failures/index.ts'

export interface MissingContract {
  readonly module: string
  readonly contract: string
  readonly range: string
  /** The modules that provide a version outside the range. */
  readonly others: readonly string[]
}

export function missingContracts(all: readonly ModulePackage[]): MissingContract[] {
  return all.flatMap(({ manifest: { id, requires = {} } }) =>
    Object.entries(requires).flatMap(([contract, range]) => {
      const offers = all.flatMap(({ manifest }) =>
        Object.entries(manifest.provides ?? {})
          .filter(([name]) => name === contract)
          .map(([, version]) => ({ provider: manifest.id, version })),
      )
      if (offers.some(({ version }) => semver.satisfies(version, range))) return []
      const others = offers.map(({ provider, version }) => `${provider} (${version})`)
      return [{ module: id, contract, range, others }]
    }),
  )
}

/** Checks that every required contract has exactly one provider, installed or about to be. */
export function checkContracts(all: readonly ModulePackage[]): void {
  const missing = missingContracts(all)[0]
  if (missing) throw missingFailure(missing)
  try {
    inContractOrder(all)
  } catch (error) {
    if (!(error instanceof ModuleError)) throw error
    throw contractConflict({ id: error.module, reason: error.message, cause: error })
  }
}

function missingFailure({ module, contract, range, others }: MissingContract): Failure {
  const who = others.length > 0 ? `only ${others.join(', ')} provides it` : 'no module provides it'
  return others.length > 0
    ? contractMissing({
        hint: 'otherVersion',
        module,
        contract,
        range,
        reason: who,
        others: others.join(' or '),
      })
    : contractMissing({ hint: 'none', module, contract, range, reason: who })
}
