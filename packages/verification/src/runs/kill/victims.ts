import { once } from 'node:events'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Application } from '@mortise/host/serving'
import { checkServed } from './check.ts'
import { copy, type Prepared } from './commands.ts'
import { digestOf, startQuietly } from './observe.ts'
import { runApp } from './run-app.ts'
import { trace } from './trace.ts'

/** A system call with a kill after it. */
export interface Point {
  readonly number: number
  readonly call: string
}

/** Selects the points to try. */
export type Chosen = (number: number) => boolean

const bin = join(dirname(fileURLToPath(import.meta.resolve('@mortise/cli/package.json'))), 'bin.js')
const appOf = (directory: string, argv: readonly string[]) => [
  process.execPath,
  bin,
  ...argv,
  '--dir',
  directory,
]

/**
 * Runs a command once on a stopped application, and gives `onPoint` a copy of the application after
 * each chosen call. A copy is as good as a kill: a stopped process leaves the same files as a
 * killed one, and a copy has no locks.
 * @param onPoint is not called if nothing has changed since the last copy, such as after an fsync
 * @returns the number of chosen calls
 */
export async function killCommand(
  { directory, argv }: Prepared,
  folder: string,
  isChosen: Chosen,
  onPoint: (point: Point, copied: string) => void,
): Promise<number> {
  const place = await copy(directory, join(folder, 'traced'))
  let number = 0
  let tried = 0
  let last = ''
  const { ended, said } = trace(appOf(place, argv), place, async (call) => {
    number += 1
    if (!isChosen(number)) return false
    tried += 1
    const digest = await digestOf(place)
    if (digest === last) return false
    last = digest
    onPoint({ number, call }, await copy(place, join(folder, `${number}`)))
    return false
  })
  const end = await ended
  if (end !== 0) throw new Error(`app ${argv.join(' ')} ends with ${end}: ${said()}`)
  return tried
}

/**
 * Kills a command after its call `number`, beside a host that must keep serving.
 * @returns undefined if it makes fewer calls
 */
export async function killBesideHost(
  prepared: Prepared,
  folder: string,
  number: number,
): Promise<Point | undefined> {
  const directory = await copy(prepared.directory, join(folder, `${number}`))
  const running = await startQuietly(directory)
  const calls: string[] = []
  const { child, ended, said } = trace(
    appOf(directory, prepared.argv),
    directory,
    (call) => calls.push(call) === number,
  )
  try {
    const end = await whileServing(running, ended)
    if (end === 0) return undefined
    if (end !== 'SIGKILL') throw new Error(`app ${prepared.argv.join(' ')} ends with ${end}: ${said()}`)
    await checkServed(prepared, directory, running)
    return { number, call: calls.at(-1) ?? '' }
  } finally {
    child.kill('SIGKILL')
    await running.close()
  }
}

/**
 * Waits for `ended`, and sends the host requests for its module the whole time.
 * @throws {Error} if it does not respond
 */
async function whileServing<Ended>({ url }: Application, ended: Promise<Ended>): Promise<Ended> {
  const continues = Symbol()
  for (;;) {
    const { status } = await fetch(`${url}/hello`)
    if (status !== 200) throw new Error(`The host returns ${status} meanwhile`)
    const first = await Promise.race([ended, setTimeout(20, continues)])
    if (first !== continues) return first as Ended
  }
}

/**
 * Kills the host after its call `number` since the start of a command.
 * @returns undefined if it makes fewer calls
 */
export async function killHost(
  prepared: Prepared,
  folder: string,
  number: number,
): Promise<(Point & { readonly directory: string }) | undefined> {
  const directory = await copy(prepared.directory, join(folder, `${number}`))
  let begun = false
  const calls: string[] = []
  const { child, ended, said } = trace(
    appOf(directory, ['start', '--no-supervisor', '--port', '0']),
    directory,
    (call) => begun && calls.push(call) === number,
  )
  try {
    await Promise.race([once(child.stdout as Readable, 'data'), ended])
    if (!/Serving/.test(said())) throw new Error(`The host does not start: ${said()}`)
    begun = true
    const { exitCode, stdout } = await runApp(directory, ...prepared.argv)
    if (calls.length < number) return undefined
    // The only code for an error without an explanation.
    if (exitCode !== 0 && JSON.parse(stdout).error.code === 'unexpected') throw new Error(stdout)
    return { number, call: calls.at(-1) ?? '', directory }
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}
