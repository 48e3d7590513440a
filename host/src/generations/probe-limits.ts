import { execFileSync } from 'node:child_process'
import { readdirSync, realpathSync } from 'node:fs'
import { codeFolders } from '@mortise/application'

/** How to start the child process of a probe. */
export interface ProbeLimits {
  readonly execPath: string
  readonly execArgv: readonly string[]
}

/** Node has no module that reads databases, whose files its permission model does not know. */
const always = ['--max-old-space-size=512', '--no-warnings', '--no-experimental-sqlite', '--permission']

const known = (...flags: string[]) => flags.filter((flag) => process.allowedNodeEnvironmentFlags.has(flag))

/**
 * Node denies everything else. The first thread is the watchdog's and the first addon SQLite's; then
 * `sealProcess` takes the permissions back.
 * @param directories what the child may read beside its own code; undefined for a module that its
 * author tries out, with network and threads
 */
export function limitsOf(scratch: string, directories: readonly string[] | undefined): ProbeLimits {
  const writes = `--allow-fs-write=${scratch}`
  const flags = [...always, ...known('--allow-addons', '--allow-worker')]
  if (directories === undefined) {
    const open = known('--allow-wasi', '--allow-net')
    return { execPath: process.execPath, execArgv: [...flags, ...open, '--allow-fs-read=*', writes] }
  }
  const folders = directories.flatMap((directory) => [directory, realpathSync(directory)])
  const reads = [...new Set([scratch, ...codeFolders(import.meta.filename), ...folders])].map(
    (path) => `--allow-fs-read=${path}`,
  )
  return withoutNetwork([...flags, ...reads, writes])
}

/** Whether a package, or a dependency in it, has an addon that Node can load. */
export const hasNativeCode = (directory: string): boolean =>
  readdirSync(directory, { recursive: true }).some((name) => String(name).endsWith('.node'))

/** Node 25 and newer has a permission for it. */
const nodeDoes = known('--allow-net').length > 0

/** Where Linux allows it, an older Node gets a network of its own, which leads nowhere. */
function withoutNetwork(flags: readonly string[]): ProbeLimits {
  const namespace = nodeDoes ? undefined : ownNamespace()
  if (namespace === undefined) return { execPath: process.execPath, execArgv: flags }
  const [execPath = '', ...options] = namespace
  return { execPath, execArgv: [...options, process.execPath, ...flags] }
}

let found: { readonly command: readonly string[] | undefined } | undefined

function ownNamespace(): readonly string[] | undefined {
  found ??= { command: process.platform === 'linux' ? candidates.find(works) : undefined }
  return found.command
}

const candidates = [
  ['/usr/bin/unshare', '--net'],
  ['/usr/bin/unshare', '--user', '--map-current-user', '--net'],
] as const

function works([program, ...options]: readonly string[]): boolean {
  try {
    execFileSync(program as string, [...options, '/bin/true'], { stdio: 'ignore', env: {}, timeout: 2000 })
    return true
  } catch {
    return false
  }
}
