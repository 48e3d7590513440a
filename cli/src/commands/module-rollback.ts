import type { Applied, Rollback } from '@mortise/installer'
import { dropText, planOptions, rollbackText, YES } from '@mortise/installer'
import { previousName, restoreCommand } from '@mortise/installer/data'
import { noGenerationNumber } from '../failures/usage.ts'
import type { Command } from '../terminal/command.ts'
import { changeInstalled } from './change-installed.ts'

export const command: Command = {
  options: [
    [
      '--restore-snapshot',
      'if there were migrations: also restore the database from before them; shows first which writes are lost',
    ],
    ['--yes', `${YES}; --restore-snapshot without a terminal needs it`],
    ...planOptions,
  ],
  examples: [
    'app module-rollback --dry-run',
    'app module-rollback',
    'app module-rollback 3 --restore-snapshot',
  ],
  changes: true,
  repairsHost: true,

  async run(call) {
    const [text] = call.arguments
    const generation = numberOf(text)
    const withSnapshot = call.options.restoreSnapshot === true
    const words = [...(text === undefined ? [] : [text]), ...(withSnapshot ? ['--restore-snapshot'] : [])]
    const asked = { kind: 'rollback', generation, withSnapshot } as const
    const applied = await changeInstalled(call, ['module-rollback', ...words], asked)
    const { directory, dryRun, live } = applied
    const { switched, ...rest } = rolledBack(applied)
    const way = rest.archive && restoreCommand(directory, rest.archive)
    const said = dryRun ? planned(rest) : described(rest, switched !== undefined, way)
    call.terminal.result({ ...rest, restore: way, ...applied.planned, live }, said)
  },
}

function rolledBack({ switched, generation, rollback, snapshot: restored }: Applied) {
  const { to, plan, snapshot: planned } = rollback as Rollback
  const { archive = null, stays = null } = switched?.undone ?? {}
  const undone = archive === null ? [] : plan.undo
  const at = planned && {
    at: planned.snapshot.at,
    tables: planned.tables,
    previous: restored?.previous ?? null,
  }
  return { switched, generation, to, plan, undone, archive, stays, snapshot: at ?? null }
}

type Done = Omit<ReturnType<typeof rolledBack>, 'switched'>

function planned({ to, plan, snapshot }: Done): string {
  if (plan.changes.length === 0) return nothingToDo(to)
  if (snapshot === null) return rollbackText(to, plan)
  return `Would go back to generation ${to}: ${plan.changes.join(', ')}, with the database of ${snapshot.at}.`
}

/** @param way the command that restores the dropped data */
function described(
  { generation, to, plan, undone, stays, snapshot }: Done,
  isNew: boolean,
  way: string | null,
): string {
  const back = `Went back to generation ${to}, as generation ${generation}.`
  if (snapshot !== null) {
    return [
      `${back} The database is the snapshot of ${snapshot.at}.`,
      `The replaced data are kept as ${snapshot.previous && previousName(snapshot.previous)}: delete them when you do not need them.`,
      'Next: app start',
    ].join('\n')
  }
  if (!isNew) return nothingToDo(to)
  if (stays !== null) return `${back}\nThe schema stays newer, which does no harm: ${stays}.`
  return [
    back,
    ...undone.map((migration) => `Undone: ${migration}`),
    ...(way === null ? [] : plan.drops.map((drop) => `Dropped: ${dropText(drop)}`)),
    ...(way === null ? [] : [`To undo the rollback, stop the host first: ${way}`]),
  ].join('\n')
}

const nothingToDo = (to: number) => `Nothing to do: the modules of generation ${to} are installed.`

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw noGenerationNumber({ text })
}
