import { join } from 'node:path'
import { defineRun } from '../../harness/define-run.ts'
import { whyNoStrace } from '../../harness/strace.ts'
import { checkApplication } from './check-application.ts'
import { checkDatabase } from './check-database.ts'
import { Disk, type Tree } from './disk.ts'
import type { Operation } from './operation.ts'
import { ends, recordHosts } from './record-hosts.ts'

/** Power losses per record, host starts after them, and purchases per record. */
const sizes = {
  slice: { points: 60, starts: 1, most: 24, ends: [[1, 'failed fsync']] },
  round: { points: 300, starts: 4, most: 400, ends },
} as const

export const powerLoss = defineRun({
  promise:
    'After a loss of power at any moment, also after a failed fsync, the database is sound and has every acknowledged purchase once and complete. No file that the application needs is lost.',
  needed: ['purchases acknowledged'],
  whyNot: whyNoStrace,
  async round(round) {
    const { random, folder } = round
    const size = sizes[round.isSlice ? 'slice' : 'round']
    const directory = join(folder, 'application')
    const { operations, tokens } = await recordHosts(round, directory, size)
    const responded = operations.map(purchaseOf)
    const first = responded.findIndex((id) => id !== undefined)
    const chosen = Array.from({ length: size.points }, (_, index) => ({
      place: random.between(index < size.starts || random.chance(0.9) ? first + 1 : 0, operations.length),
      isStarted: index < size.starts,
    })).sort((one, other) => one.place - other.place)

    const disk = new Disk(directory, random)
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
      round.count('points with loss', Math.min(lost, 1))
      round.count('purchases lost', lost)
      round.count('doubled', doubled)
      round.count('half', half)
      round.count('databases corrupt', damage === undefined ? 0 : 1)
      round.count('files lost', files.length)
      const wrong = [
        ...(lost > 0 ? [`${lost} of ${acknowledged.length} acknowledged purchases lost`] : []),
        ...(doubled > 0 ? [`${doubled} doubled`] : []),
        ...(half > 0 ? [`${half} half`] : []),
        ...(damage === undefined ? [] : [`the database is damaged: ${damage}`]),
        ...(files.length > 0 ? [`missing or changed: ${files.slice(0, 3).join(', ')}`] : []),
      ]
      if (wrong.length === 0 && point.isStarted)
        wrong.push(...(await checkApplication(round, left, tokens, acknowledged)))
      if (wrong.length > 0) round.fail(`power loss after call ${place}: ${wrong.join('; ')}`)
    }
    round.count('points tried', size.points)
    round.count('starts of a host', size.starts)
    round.count('purchases acknowledged', acknowledged.length)
  },
})

/** The id of the purchase that a response acknowledges. */
function purchaseOf(operation: Operation): string | undefined {
  if (operation.kind !== 'response' || !operation.text.startsWith('HTTP/1.1 201')) return undefined
  return /"id":"(purchase_\w+)"/.exec(operation.text)?.[1]
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
