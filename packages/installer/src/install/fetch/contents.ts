import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { isAbsolute, join, normalize } from 'node:path'
import { visit } from 'jsonc-parser'
import npa from 'npm-package-arg'
import { unsafePackage } from '../../failures/index.ts'

/** Far above the size of any real package.json, in bytes. */
const largestDescription = 1024 * 1024

/** Commands that operators type. No package may provide one with such a name. */
const commands = ['app', 'mortise', 'node', 'npm', 'npx', 'corepack']

/** Packages that the host always provides. A copy in the package would never be loaded. */
const provided = ['@mortise/module-sdk', 'fastify']

/**
 * Rejects unpacked content that no honest package has, before anything else reads it: a
 * package.json that two readers understand differently, a name that is a path, code outside,
 * commands, copies of what the host provides.
 * @throws {Failure} `unsafe-package`
 */
export async function checkContents(directory: string, target: string): Promise<void> {
  const refused = (reason: string) => unsafePackage({ target, reason })
  const { name, main, exports, bin, mortise } = await checkDescription(directory, target)
  if (typeof main === 'string' && leadsOut(main))
    throw refused(`its main file ${JSON.stringify(main)} is outside the package`)
  const outside = targetsOf(exports).find(hasParent)
  if (outside !== undefined)
    throw refused(`its "exports" name ${JSON.stringify(outside)}, which is outside the package`)
  const command = commandsOf(bin, name).find((own) => commands.includes(own))
  if (command !== undefined)
    throw refused(`it contains the command "${command}", which would shadow the real one`)
  if (existsSync(join(directory, 'node_modules', '.bin')))
    throw refused('it contains node_modules/.bin, whose commands would shadow the real ones')
  const copy = provided.find((peer) => existsSync(join(directory, 'node_modules', peer)))
  if (copy !== undefined) throw refused(`it contains its own ${copy}, which the host provides`)
  const config = (mortise as { config?: unknown } | null | undefined)?.config
  if (typeof config !== 'string' || leadsOut(config)) return
  const settings = await readDescription(directory, config)
  if (typeof settings === 'string') throw refused(settings)
}

/**
 * Checks that all readers understand a package.json the same way, and that its name is not a path.
 * @throws {Failure} `unsafe-package`
 */
export async function checkDescription(
  directory: string,
  target: string,
): Promise<Record<string, unknown> & { readonly name: string }> {
  const json = await readDescription(directory, 'package.json')
  if (typeof json === 'string') throw unsafePackage({ target, reason: json })
  const { name } = json
  if (isPackageName(name)) return { ...json, name }
  throw unsafePackage({ target, reason: `${JSON.stringify(name)} is not the name of an npm package` })
}

/** A JSON object of the package, or the reason to reject it. Other code reports a missing file. */
async function readDescription(directory: string, file: string): Promise<Record<string, unknown> | string> {
  const path = join(directory, file)
  const found = await stat(path).catch(() => undefined)
  if (!found?.isFile()) return file === 'package.json' ? 'it has no package.json' : {}
  if (found.size > largestDescription) return `its ${file} is larger than 1 MiB`
  // As npm and Node do.
  const text = (await readFile(path, 'utf8')).replace(/^\ufeff/, '')
  let value: unknown
  let key: string | undefined
  try {
    value = JSON.parse(text)
    key = duplicateKey(text)
  } catch (error) {
    return `its ${file} is not JSON: ${(error as Error).message}`
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `its ${file} is not an object`
  if (key === '__proto__') return `its ${file} has the key "__proto__"`
  if (key !== undefined) return `its ${file} has the key ${JSON.stringify(key)} twice in one object`
  return value as Record<string, unknown>
}

/**
 * A key that an object of a JSON text has twice, because readers differ in the one they use; or
 * `__proto__`, which some readers treat specially. `text` must be valid JSON.
 * @throws {RangeError} for thousands of levels
 */
function duplicateKey(text: string): string | undefined {
  const objects: Set<string>[] = []
  let found: string | undefined
  visit(text, {
    onObjectBegin: () => void objects.push(new Set()),
    onObjectProperty(key) {
      const keys = objects.at(-1)
      if (key === '__proto__' || keys?.has(key)) found ??= key
      keys?.add(key)
    },
    onObjectEnd: () => void objects.pop(),
  })
  return found
}

function isPackageName(name: unknown): name is string {
  if (typeof name !== 'string') return false
  try {
    const spec = npa(name)
    return spec.registry === true && spec.name === name
  } catch {
    return false
  }
}

const leadsOut = (path: string) => isAbsolute(path) || /^\.\.(?:[\\/]|$)/.test(normalize(path))

/** The files that "exports" of package.json names, in all conditions. */
function targetsOf(exports: unknown): string[] {
  if (typeof exports === 'string') return [exports]
  return typeof exports === 'object' && exports !== null ? Object.values(exports).flatMap(targetsOf) : []
}

/** Node refuses each such target, even if it leads back into the package. */
const hasParent = (target: string) =>
  isAbsolute(target) || /(?:^|[\\/])(?:\.|%2e){2}(?:[\\/]|%2f|%5c|$)/i.test(target)

function commandsOf(bin: unknown, name: string): string[] {
  if (typeof bin === 'string') return [name.replace(/^@[^/]*\//, '')]
  return typeof bin === 'object' && bin !== null ? Object.keys(bin) : []
}
