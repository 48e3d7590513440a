import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Random } from '../../harness/random.ts'
import { outcome, repeat, skipped } from '../../harness/repeat.ts'
import type { Outcome, Verification } from '../../harness/verification.ts'
import { hasStrace } from '../kill/trace.ts'
import { checkApplication } from './check-application.ts'
import { checkDatabase } from './check-database.ts'
import { Disk, type Tree } from './disk.ts'
import type { Operation } from './operation.ts'
import { ends, type RoundSize, recordRound } from './recorded-round.ts'

/** Power losses per record, host starts after them, and purchases per record. */
const slice = { points: 60, starts: 1, most: 24, ends: [[1, 'failed fsync']] } as const
const round = { points: 300, starts: 4, most: 400, ends } as const

interface Size extends RoundSize {
  readonly points: number
  readonly starts: number
}

/** The largest number of reported failures. */
const SHOWN = 5

export const powerLoss: Verification = {
  promise:
    'After a loss of power at any moment, also after a failed fsync, the database is sound and has every acknowledged purchase once and complete. No file that the application needs is lost.',
  run: (options) =>
    repeat(options, async (seed, folder) =>
      hasStrace()
        ? await tryRound(folder, new Random(seed), options.minutes === 0 ? slice : round)
        : skipped('strace is missing: apt-get install strace'),
    ),
}

async function tryRound(folder: string, random: Random, size: Size): Promise<Outcome> {
  const directory = join(folder, 'application')
  await mkdir(directory)
  const { operations, tokens, failedSyncs, failures } = await recordRound(directory, random, size)
  const responded = operations.map((operation) =>
    operation.kind === 'response' ? purchaseOf(operation) : undefined,
  )
  const first = responded.findIndex((id) => id !== undefined)
  const chosen = Array.from({ length: size.points }, (_, index) => ({
    place: random.between(index < size.starts || random.chance(0.9) ? first + 1 : 0, operations.length),
    isStarted: index < size.starts,
  })).sort((one, other) => one.place - other.place)

  const disk = new Disk(directory, random)
  const found = {
    'points with loss': 0,
    'purchases lost': 0,
    doubled: 0,
    half: 0,
    'databases corrupt': 0,
    'files lost': 0,
  }
  const texts: string[] = []
  const acknowledged: string[] = []
  let served: Tree | undefined
  let place = 0
  for (const point of chosen) {
    for (; place < point.place; place += 1) {
      disk.apply(operations[place] as Operation)
      const id = responded[place]
      if (id === undefined) continue
      acknowledged.push(id)
      served ??= disk.tree()
    }
    const left = disk.lose()
    const { lost, doubled, half, damage } = await checkDatabase(left, acknowledged, folder)
    const files = served === undefined ? [] : missingFiles(served, disk.tree(), left)
    found['points with loss'] += Math.min(lost, 1)
    found['purchases lost'] += lost
    found.doubled += doubled
    found.half += half
    found['databases corrupt'] += damage === undefined ? 0 : 1
    found['files lost'] += files.length
    const wrong = [
      ...(lost > 0 ? [`${lost} of ${acknowledged.length} acknowledged purchases lost`] : []),
      ...(doubled > 0 ? [`${doubled} doubled`] : []),
      ...(half > 0 ? [`${half} half`] : []),
      ...(damage === undefined ? [] : [`the database is damaged: ${damage}`]),
      ...(files.length > 0 ? [`missing or changed: ${files.slice(0, 3).join(', ')}`] : []),
    ]
    if (wrong.length === 0 && point.isStarted)
      wrong.push(...(await checkApplication(left, tokens, acknowledged, folder)))
    if (wrong.length > 0) texts.push(`power loss after call ${place}: ${wrong.join('; ')}`)
  }
  const figures = {
    'points tried': size.points,
    'starts of a host': size.starts,
    'purchases acknowledged': acknowledged.length,
    'failed fsyncs': failedSyncs,
    ...found,
  }
  const more = texts.length > SHOWN ? [`and at ${texts.length - SHOWN} more points`] : []
  return outcome(figures, [...failures, ...texts.slice(0, SHOWN), ...more], ['purchases acknowledged'])
}

function purchaseOf({ text }: { readonly text: string }): string | undefined {
  if (!text.startsWith('HTTP/1.1 201')) return undefined
  return /"id":"(purchase_\w+)"/.exec(text)?.[1]
}

/** The database, which has its own check; locks; and files of `app init` for editors and git. */
const unneeded =
  /control-\w+\.pid$|^data\/|\.lock$|^\.app\/(app\.config\.schema\.json|reserve)$|^\.gitignore$/

/** Files that existed at the first acknowledged purchase, are unchanged now, and are not so in `left`. */
function missingFiles(served: Tree, now: Tree, left: Tree): string[] {
  return [...served].flatMap(([path, before]) => {
    if (!Buffer.isBuffer(before) || unneeded.test(path)) return []
    const isSame = (other: unknown) => Buffer.isBuffer(other) && other.equals(before)
    return isSame(now.get(path)) && !isSame(left.get(path)) ? [path] : []
  })
}
