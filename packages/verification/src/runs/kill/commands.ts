import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Observation, observe, startQuietly, steadyPaths } from './observe.ts'
import { succeed } from './run-app.ts'

/** The commands to kill, by their name here, with the state of the application before each. */
const commands = {
  'module-install': { from: 'empty', argv: ['module-install', '--yes', '@sample/note@1.0.0'] },
  'module-upgrade': { from: 'installed', argv: ['module-upgrade', 'note@2.0.0'] },
  'module-rollback': { from: 'upgraded', argv: ['module-rollback', '2'] },
  'module-remove': { from: 'upgraded', argv: ['module-remove', 'note'] },
  'module-remove --purge': { from: 'upgraded', argv: ['module-remove', '--purge', 'note'] },
} as const

export type CommandName = keyof typeof commands
export const commandNames = Object.keys(commands) as CommandName[]

/** A command and its results without a kill. */
export interface Prepared {
  readonly argv: readonly string[]
  /** The application before the command. */
  readonly directory: string
  readonly before: Observation
  readonly after: Observation
  /** The paths after its success. */
  readonly paths: readonly string[]
}

/** The steps from each state of an application to the next. */
const states = {
  async empty(directory: string) {
    await succeed(directory, 'init')
    await succeed(directory, 'module-install', '--yes', '@sample/hello')
  },
  async installed(directory: string) {
    await succeed(directory, 'module-install', '--yes', '@sample/note@1.0.0')
    await write(directory, 3)
  },
  async upgraded(directory: string) {
    await succeed(directory, 'module-upgrade', 'note@2.0.0')
    await write(directory, 2)
  },
}

/** Creates the application for a command below `folder`, and runs the command once undisturbed. */
export async function prepare(folder: string, name: CommandName): Promise<Prepared> {
  const { from, argv } = commands[name]
  const directory = join(folder, 'application')
  await mkdir(directory)
  for (const [state, make] of Object.entries(states)) {
    await make(directory)
    if (state === from) break
  }
  const before = await observe(await copy(directory, join(folder, 'before')))
  const done = await copy(directory, join(folder, 'after'))
  await succeed(done, ...argv)
  const after = await observe(done)
  return { argv, directory, before, after, paths: await steadyPaths(done) }
}

/**
 * Copies an application as it is, including a dead host's socket.
 * @returns the copy
 */
export async function copy(directory: string, to: string): Promise<string> {
  await promisify(execFile)('cp', ['-a', directory, to])
  return to
}

async function write(directory: string, rows: number): Promise<void> {
  const running = await startQuietly(directory)
  try {
    for (let row = 0; row < rows; row++) {
      const { status } = await fetch(`${running.url}/note`, { method: 'POST' })
      if (status !== 201) throw new Error(`POST /note returns ${status}`)
    }
  } finally {
    await running.close()
  }
}
