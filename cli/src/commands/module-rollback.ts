import { writeConfigSchema } from '../application-folder.ts'
import type { Command } from '../command.ts'
import { nameOfFormer } from '../data/replace-data.ts'
import { Failure } from '../failure.ts'
import { changeApplication } from '../install/change-application.ts'
import { type RolledBack, rollbackModules } from '../install/rollback-modules.ts'

export const moduleRollback: Command = {
  name: 'module-rollback',
  summary: 'go back to the former generation, or to a named one',
  arguments: '[generation]',
  options: [
    [
      '--restore-snapshot',
      'where migrations lie in between: the database too as it was before them; says first what is lost',
    ],
    ['--yes', 'do not ask whether that may be lost'],
  ],
  examples: ['app module-rollback', 'app module-rollback 3', 'app module-rollback 3 --restore-snapshot'],
  changes: true,
  mendsHost: true,

  async run({ arguments: [text], options, terminal, application }) {
    const directory = await application()
    const generation = numberOf(text)
    const withSnapshot = options.restoreSnapshot === true
    const words = [...(text === undefined ? [] : [text]), ...(withSnapshot ? ['--restore-snapshot'] : [])]
    const command = ['module-rollback', ...words].join(' ')
    const yes = options.yes === true
    const { switched, ...rest } = await changeApplication(directory, command, terminal, () =>
      rollbackModules({ directory, command, generation, terminal, withSnapshot, yes }),
    )
    await writeConfigSchema(directory)
    terminal.result({ ...rest, live: switched?.live ?? false }, describe(rest, switched !== undefined))
  },
}

function describe(
  { generation, to, undone, stays, snapshot }: Omit<RolledBack, 'switched'>,
  isNew: boolean,
): string {
  const back = `Back to what generation ${to} had, as generation ${generation}.`
  if (snapshot !== null) {
    return [
      `${back} The database is that of ${snapshot.at}.`,
      `What was there is kept as ${snapshot.former && nameOfFormer(snapshot.former)}: delete it when you do not need it.`,
      'Next: app start',
    ].join('\n')
  }
  if (!isNew) return `Nothing to do: what generation ${to} had is installed.`
  if (stays !== null) return `${back}\nThe schema stays ahead, which does no harm: ${stays}.`
  return [back, ...undone.map((migration) => `Undone: ${migration}`)].join('\n')
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new Failure('usage', 'usage', `"${text}" is no generation.`, 'Give a number of "app module-history".')
}
