import type { ModulePackage } from '@mortise/application'
import { inContractOrder, ModuleError } from '@mortise/host'
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

function missingFailure({ others, ...missing }: MissingContract): Failure {
  if (others.length === 0)
    return contractMissing({ hint: 'none', ...missing, reason: 'no module provides it' })
  const reason = `only ${others.join(', ')} provides it`
  return contractMissing({ hint: 'otherVersion', ...missing, reason, others: others.join(' or ') })
}
