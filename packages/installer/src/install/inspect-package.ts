import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { emptyLockFile, inTemporaryFolder, type ModulePackage, readPackage } from '@mortise/application'
import { capitalised, Failure } from '../failures/index.ts'
import { LARGE, sizeOf } from '../store/format-bytes.ts'
import { indexedPackage } from '../store/module-index.ts'
import { type Candidate, stage } from './fetch/candidate.ts'
import { npmOptions } from './fetch/npm-options.ts'
import { checkConflicts } from './plan/checks/conflicts.ts'
import { checkContracts } from './plan/checks/contracts.ts'
import { checkHostRange, checkPeers } from './plan/checks/host-range.ts'
import { resolveSpec, type Source } from './resolve/source.ts'
import { checkEntry } from './verify/entry.ts'

interface PackageFinding {
  readonly rule: string
  readonly where: string
  readonly why: string
  readonly remedy: string
}

/**
 * What an installation would refuse of a module's folder, from the files that npm would publish. No
 * code of it runs, and its dependencies are not fetched.
 * @param beside folders of modules that serve with it
 * @returns `refused`: whether an installation refuses it
 */
export async function inspectPackage(folder: string, beside: readonly string[]) {
  const others = await Promise.all(beside.filter((other) => other !== folder).map(readPackage))
  return await inTemporaryFolder(undefined, async (directory) => {
    const lookup = { directory, cwd: process.cwd(), lock: emptyLockFile, aliases: {} }
    const findings: PackageFinding[] = []
    const collect = async <Result>(check: () => Result) => {
      try {
        return await check()
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        findings.push(findingOf(error, folder))
      }
    }
    const npm = await npmOptions(directory)
    const candidate = await collect(() =>
      stage(resolveSpec(folder, lookup) as Source, { directory, npm, alone: true }),
    )
    if (candidate === undefined) return { refused: true, findings }
    const module = candidate.package
    await collect(() => checkEntry(candidate))
    await collect(() => checkHostRange(module))
    await collect(() => checkPeers(candidate.json))
    await collect(() => checkConflicts([module], [...others, module]))
    await collect(() => checkContracts([...others, module]))
    const refused = findings.length > 0
    return { refused, findings: [...findings, ...unpacked(module, folder), ...advice(candidate, module)] }
  })
}

function findingOf({ code, message, hint }: Failure, folder: string): PackageFinding {
  const why = capitalised(
    message
      .replaceAll(`The package ${folder} `, 'The package ')
      .replaceAll(`${folder}/`, '')
      .replaceAll(folder, 'the folder'),
  )
  const remedy =
    code === 'contract-missing' ? 'Name the folder of a module that provides it: --with <folder>.' : hint
  return { rule: code, where: 'package.json', why, remedy }
}

/** The migrations of the folder, if npm would leave them out. */
function unpacked({ manifest: { migrations }, directory }: ModulePackage, folder: string): PackageFinding[] {
  if (migrations === undefined || existsSync(join(directory, migrations))) return []
  if (!existsSync(join(folder, migrations))) return []
  const why = `npm leaves the folder ${migrations} out`
  return [{ rule: 'not-packed', where: 'package.json', why, remedy: `Add "${migrations}" to "files".` }]
}

/** What an installation only reports. */
function advice({ bytes, json }: Candidate, { manifest }: ModulePackage): PackageFinding[] {
  const where = 'package.json'
  const findings: PackageFinding[] = []
  if (bytes > LARGE) {
    const why = `the package has ${sizeOf(bytes)} unpacked`
    const remedy = 'Name what it needs in "files", and nothing else.'
    findings.push({ rule: 'large-package', where, why, remedy })
  }
  const known = indexedPackage(manifest.id) ?? indexedPackage(json.name)
  if (known !== undefined && known !== json.name) {
    const why = `"${manifest.id}" is the short name of ${known}: operators who write it get that package`
    findings.push({ rule: 'name-taken', where, why, remedy: 'Choose another id and another package name.' })
  }
  return findings
}
