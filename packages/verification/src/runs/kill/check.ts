import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import type { Application } from '@mortise/host/serving'
import { copy, type Prepared } from './commands.ts'
import { digestOf, type Observation, observe, observeServed, readRows, steadyPaths } from './observe.ts'
import { runApp, succeed } from './run-app.ts'

/**
 * Checks a stopped application after a kill: started at once and then changed by the next command,
 * or repaired first.
 * @param known the states already checked, because kills at many calls lead to few states
 * @throws {Error} for what does not hold
 */
export async function checkStopped(prepared: Prepared, directory: string, known: Set<string>): Promise<void> {
  const started = await copy(directory, `${directory}.started`)
  assertBeforeOrAfter(prepared, await observe(started))
  await cleanUp(started, ['module-install'])
  await checkCleaned(prepared, started, known)

  await succeed(directory, 'module-list')
  await succeed(directory, 'doctor', '--fix')
  await checkCleaned(prepared, directory, known)
}

async function checkCleaned(prepared: Prepared, directory: string, known: Set<string>): Promise<void> {
  await assertIntact(directory)
  const digest = await digestOf(directory)
  if (known.has(digest)) return
  assertBeforeOrAfter(prepared, await observe(directory))
  await checkRepeated(prepared, directory)
  known.add(digest)
}

/**
 * Checks the same beside a running host, and stops the host on the way.
 * @throws {Error}
 */
export async function checkServed(
  prepared: Prepared,
  directory: string,
  running: Application,
): Promise<void> {
  assertBeforeOrAfter(prepared, { served: await observeServed(running), rows: readRows(directory) })
  await cleanUp(directory, prepared.argv)
  assertSame('The running host serves', await observeServed(running), prepared.after.served)
  await assertIntact(directory)
  await running.close()
  await checkRepeated(prepared, directory)
}

/** A killed command succeeds when it is repeated, and leaves nothing of the kill. */
async function checkRepeated(prepared: Prepared, directory: string): Promise<void> {
  await succeed(directory, ...prepared.argv)
  await assertIntact(directory)
  const { served, rows } = await observe(directory)
  assertSame('After the command is repeated, the application serves', served, prepared.after.served)
  assertSame('After the command is repeated, the rows are', rows, prepared.after.rows)
  const paths = await steadyPaths(directory)
  const left = paths.filter((path) => !prepared.paths.includes(path))
  const lost = prepared.paths.filter((path) => !paths.includes(path))
  assertSame(
    'After the command is repeated, files are left or lost:',
    JSON.stringify({ left, lost }),
    NOTHING,
  )
  if (rows === 'none' && prepared.before.rows !== 'none') await assertArchived(prepared, directory)
}

const NOTHING = JSON.stringify({ left: [], lost: [] })

/** The next command reports what it found. */
async function cleanUp(directory: string, argv: readonly string[]): Promise<void> {
  const leftovers = (await steadyPaths(directory)).filter(isLeftover)
  const { stderr } = await succeed(directory, ...argv)
  if (leftovers.length > 0 && !/interrupted/.test(stderr)) {
    throw new Error(
      `${leftovers.join(', ')}: the next command does not say that one was interrupted\n${stderr}`,
    )
  }
}

const isLeftover = (path: string) =>
  path === '.app/journal.json' || /^\.app\/store\/\.staging-[^/]+$|\.tmp$/.test(path)

/** The doctor finds nothing, and the history ends with the installed modules. */
async function assertIntact(directory: string): Promise<void> {
  await succeed(directory, 'doctor')
  const { generations } = JSON.parse((await succeed(directory, 'module-history')).stdout)
  const { generation } = await readLockFile(directory)
  assertSame('The last generation of the history is', `${generations.at(-1)?.generation}`, `${generation}`)
}

function assertBeforeOrAfter({ before, after }: Prepared, { served, rows }: Observation): void {
  if (served !== before.served && served !== after.served) {
    throw new Error(`It serves neither what it did before nor what it should after: ${served}`)
  }
  if (rows !== before.rows && rows !== after.rows) {
    throw new Error(`Its rows are neither those of before nor those of after: ${rows}`)
  }
}

/** Purged data return from the newest archive. */
async function assertArchived({ before }: Prepared, directory: string): Promise<void> {
  const folder = join(directory, '.app', 'purged')
  const names = (await readdir(folder)).sort(
    (one, other) => one.length - other.length || (one < other ? -1 : 1),
  )
  const { exitCode, stdout } = await runApp(directory, 'restore', join(folder, names.at(-1) ?? 'none'))
  if (exitCode !== 0) throw new Error(`The archive of what was purged cannot be restored: ${stdout}`)
  assertSame('After the archive is restored, the rows are', readRows(directory), before.rows)
}

function assertSame(what: string, actual: string, expected: string): void {
  if (actual !== expected) throw new Error(`${what} ${actual} instead of ${expected}`)
}
