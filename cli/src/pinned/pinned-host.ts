import { createHash } from 'node:crypto'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { findApplication } from '@mortise/installer/locating'

// If an application pins a host (`app host-upgrade`), the command continues in that host's version,
// in the same process. The called command may be older or newer. So the parts of modules.lock.json
// read here, and the folder name in the store, are a contract between all versions. This loads no
// code of the host.

export interface PinnedHost {
  readonly version: string
  /** The path of its `bin.js`, which may be missing. */
  readonly program: string
  /** Its owner, if that is neither this user nor root: whose code must not run. */
  readonly stranger: number | undefined
}

/** Commands that need no existing application. */
const withoutApplication = ['init', 'help', 'module-new', 'module-check', 'dev']

export const ownFolder = realpathSync(join(import.meta.dirname, '..', '..'))

const calledFrom = Symbol.for('@mortise/cli: the package that was called')
const shared = globalThis as { [calledFrom]?: string }

/** The folder of the called package, which may have continued in this one. */
export const calledFolder = (): string => shared[calledFrom] ?? ownFolder

/** Undefined if that is this host, or if MORTISE_UNPINNED is set. */
export function pinnedHost(argv: readonly string[]): PinnedHost | undefined {
  if (process.env.MORTISE_UNPINNED || shared[calledFrom] !== undefined) return undefined
  const { command, directory } = readCall(argv)
  if (command === undefined || withoutApplication.includes(command)) return undefined
  try {
    const application = findApplication(directory, process.cwd())
    const { host } = JSON.parse(readFileSync(join(application, 'modules.lock.json'), 'utf8'))
    const hash = createHash('sha256').update(host.tree).digest('hex').slice(0, 16)
    const folder = `${host.package.replace('/', '+')}@${host.version}-${hash}`
    if (basename(folder) !== folder) return undefined
    const program = join(application, '.app', 'store', folder, 'bin.js')
    if (isOwn(program)) return undefined
    return { version: host.version, program, stranger: strangerOf(program) }
  } catch {
    return undefined // no application, lock file or pin, or a wrong one: the command reports it
  }
}

/** @throws {Error} if the host cannot be loaded */
export async function runPinned({ program }: PinnedHost): Promise<void> {
  shared[calledFrom] = ownFolder
  try {
    await import(pathToFileURL(program).href)
  } catch (error) {
    delete shared[calledFrom]
    throw error
  }
}

/** The command and the value of --dir, the only option with a value that may come before it. */
function readCall(argv: readonly string[]): { command?: string | undefined; directory?: string | undefined } {
  const options = { dir: { type: 'string' } } as const
  const { values, positionals } = parseArgs({ args: argv, options, strict: false, allowPositionals: true })
  return { command: positionals[0], directory: values.dir?.toString() }
}

function strangerOf(program: string): number | undefined {
  const owner = statSync(program, { throwIfNoEntry: false })?.uid
  const trusted = owner === undefined || owner === 0 || owner === process.geteuid?.()
  return trusted ? undefined : owner
}

function isOwn(program: string): boolean {
  try {
    return realpathSync(dirname(program)) === ownFolder
  } catch {
    return false // it is missing
  }
}
