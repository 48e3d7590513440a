import { once } from 'node:events'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Application } from '@mortise/host'
import { checkServed } from './check.ts'
import { copy, type Prepared } from './commands.ts'
import { digestOf, startQuietly } from './observe.ts'
import { runApp } from './run-app.ts'
import { trace } from './trace.ts'

/** A system call after which somebody was killed. */
export interface Point {
  readonly number: number
  readonly call: string
}

/** Which points are tried. */
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
 * Runs a command once on a stopped application, and gives `onPoint` a copy of it after each chosen call. A process
 * that stands still and one that is killed have left the same files, and the locks of a dead one are gone, as
 * those of a copy are.
 * @param onPoint is not called where nothing has changed since the last copy, by an fsync say
 * @returns how many calls were chosen
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

/** Kills a command after its call `number`, beside a host that has to go on. @returns undefined where it makes fewer */
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

/** Waits for `ended`, and asks the host for its module all the time. @throws {Error} where it does not answer */
async function whileServing<Ended>({ url }: Application, ended: Promise<Ended>): Promise<Ended> {
  const goesOn = Symbol()
  for (;;) {
    const { status } = await fetch(`${url}/hello`)
    if (status !== 200) throw new Error(`The host answers ${status} meanwhile`)
    const first = await Promise.race([ended, setTimeout(20, goesOn)])
    if (first !== goesOn) return first as Ended
  }
}

/** Kills the host after its call `number` since a command has begun. @returns undefined where it makes fewer */
export async function killHost(
  prepared: Prepared,
  folder: string,
  number: number,
): Promise<(Point & { readonly directory: string }) | undefined> {
  const directory = await copy(prepared.directory, join(folder, `${number}`))
  let begun = false
  const calls: string[] = []
  const { child, ended, said } = trace(
    appOf(directory, ['start', '--port', '0']),
    directory,
    (call) => begun && calls.push(call) === number,
  )
  try {
    await Promise.race([once(child.stdout as Readable, 'data'), ended])
    if (!/Serving/.test(said())) throw new Error(`The host does not start: ${said()}`)
    begun = true
    const { exitCode, stdout } = await runApp(directory, ...prepared.argv)
    if (calls.length < number) return undefined
    // The one code that stands for an error that nobody has thought of.
    if (exitCode !== 0 && JSON.parse(stdout).error.code === 'unexpected') throw new Error(stdout)
    return { number, call: calls.at(-1) ?? '', directory }
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}
