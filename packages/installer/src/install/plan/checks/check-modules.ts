import { assertSettings, type Config, type ModulePackage } from '@mortise/application'
import { invalidSettings } from '../../../failures/index.ts'
import { type HostPackage, ownHost } from '../../../store/host-package.ts'
import type { PackageJson } from '../../../store/package-json.ts'
import { checkConflicts } from './conflicts.ts'
import { checkContracts } from './contracts.ts'
import { checkHostRange, checkPeers } from './host-range.ts'

/** From their files alone. @throws {Failure} */
export async function checkModules(
  fresh: readonly { readonly package: ModulePackage; readonly json: PackageJson }[],
  others: readonly ModulePackage[],
  config: Config,
  host: HostPackage = ownHost(),
): Promise<void> {
  const packages = fresh.map((candidate) => candidate.package)
  const all = [...others, ...packages]
  for (const module of packages) checkHostRange(module, host)
  for (const { json } of fresh) checkPeers(json, host)
  checkContracts(all)
  checkConflicts(packages, all)
  for (const module of packages) await checkSettings(module, config)
}

async function checkSettings({ manifest, settingsSchema }: ModulePackage, config: Config): Promise<void> {
  try {
    await assertSettings(config, manifest.id, settingsSchema)
  } catch (error) {
    throw invalidSettings({ id: manifest.id, reason: (error as Error).message, cause: error })
  }
}
