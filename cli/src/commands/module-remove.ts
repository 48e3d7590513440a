import { writeConfigSchema } from '../application/application-folder.ts'
import { restoreCommand } from '../data/archives.ts'
import { changeModules } from '../install/pipeline.ts'
import { isServed } from '../store/installed-state.ts'
import type { Command } from '../terminal/command.ts'
import { YES } from '../terminal/confirm.ts'

export const command: Command = {
  options: [
    ['--purge', 'also drop their tables; writes an archive for "app restore" first'],
    ['--yes', YES],
  ],
  examples: ['app module-remove api-purchase', 'app module-remove --purge api-purchase'],
  changes: true,

  async run({ arguments: names, options, terminal, application }) {
    const directory = await application()
    const purge = options.purge === true
    const command = ['module-remove', ...(purge ? ['--purge'] : []), ...names].join(' ')
    const yes = options.yes === true
    const done = await changeModules({ kind: 'remove', names, purge, directory, command, terminal, yes })
    const { switched, generation, changed: removed, absent, purged } = done
    await writeConfigSchema(directory)
    const live = switched?.live ?? (await isServed(directory))
    terminal.result(
      {
        generation,
        removed,
        absent,
        purged: purged.map((each) => ({ ...each, restore: restoreCommand(directory, each.archive) })),
        live,
      },
      [
        ...absent.map((name) => `Nothing to do: ${name} is not installed.`),
        ...removed.map((id) =>
          purge ? `Removed ${id}.` : `Removed ${id}. Its data stay for a later installation.`,
        ),
        ...(switched === undefined ? [] : [live ? 'The running host no longer serves it.' : 'No host runs.']),
        ...purged.map(
          ({ tables, archive }) =>
            `Dropped ${tables.join(', ')}. To restore them, stop the host first: ${restoreCommand(directory, archive)}`,
        ),
      ].join('\n'),
    )
  },
}
