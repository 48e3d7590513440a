import { createHash } from 'node:crypto'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findApplication } from './find-application.ts'

// Where an application pins a host (`app host-upgrade`), the command that was called continues in that one, in the
// same process. The one that was called may be older or newer: what is read here of modules.lock.json, and the
// name of the folder in the store, are the contract between all versions. Nothing of the host is loaded for it.

export interface PinnedHost {
  readonly version: string
  /** Its `bin.js`, there or not. */
  readonly program: string
  /** The user id of its owner, where that is neither this user nor root: nobody runs a stranger's code by looking into a folder. */
  readonly stranger: number | undefined
}

/** Commands that are about no application that exists. */
const withoutApplication = ['init', 'help', 'module-new', 'module-check']

/** The folder of this package. */
export const ownFolder = realpathSync(join(import.meta.dirname, '..', '..'))

const calledFrom = Symbol.for('@mortise/cli: the package that was called')
const shared = globalThis as { [calledFrom]?: string }

/** The folder of the package that was called: another than `ownFolder` where that one has continued in this one. */
export const calledFolder = (): string => shared[calledFrom] ?? ownFolder

/**
 * The host that this call continues in: the one that its application pins, unless it is this one, or
 * MORTISE_UNPINNED is set.
 * @param argv without the program's own name
 */
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
    return undefined // no application, no lock, no pin, or one that is wrong: the command tells
  }
}

/** Runs the call in the pinned host. @throws {Error} where that cannot be loaded */
export async function runPinned({ program }: PinnedHost): Promise<void> {
  shared[calledFrom] = ownFolder
  try {
    await import(pathToFileURL(program).href)
  } catch (error) {
    delete shared[calledFrom]
    throw error
  }
}

/** The command and the value of --dir, which is the only option that may precede it with a value. */
function readCall(argv: readonly string[]): { command?: string; directory?: string } {
  const call: { command?: string; directory?: string } = {}
  for (let index = 0; index < argv.length && argv[index] !== '--'; index += 1) {
    const word = argv[index] as string
    const value = word.startsWith('--dir=') ? word.slice('--dir='.length) : undefined
    if (value !== undefined) call.directory = value
    else if (word === '--dir') call.directory = argv[++index] ?? ''
    else if (!word.startsWith('-')) call.command ??= word
  }
  return call
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
