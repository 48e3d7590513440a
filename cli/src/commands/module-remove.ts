import { writeConfigSchema } from '../application-folder.ts'
import type { Command } from '../command.ts'
import { purgeModules, purgeOrder } from '../data/purge-modules.ts'
import { readLock } from '../host.ts'
import { changeApplication } from '../install/change-application.ts'
import { removeModules } from '../install/remove-modules.ts'
import { isServed } from '../installed-state.ts'

export const moduleRemove: Command = {
  name: 'module-remove',
  summary: 'deactivate and forget modules; their data stays unless it is purged',
  arguments: '<name...>',
  options: [['--purge', 'also drop their tables, after writing an archive that "app restore" brings back']],
  examples: ['app module-remove api-purchase', 'app module-remove --purge api-purchase'],

  async run({ arguments: names, options, terminal, application }) {
    const directory = await application()
    const purge = options.purge === true
    const command = ['module-remove', ...(purge ? ['--purge'] : []), ...names].join(' ')
    const { switched, removed, absent, purged } = await changeApplication(
      directory,
      command,
      terminal,
      async () => {
        const doomed = purge ? await purgeOrder(directory, names) : []
        const done = await removeModules(directory, command, names)
        return { ...done, purged: await purgeModules(directory, doomed) }
      },
    )
    await writeConfigSchema(directory)
    const generation = switched?.generation ?? (await readLock(directory)).generation
    const live = switched?.live ?? (await isServed(directory))
    terminal.result(
      { generation, removed, absent, purged, live },
      [
        ...absent.map((name) => `Nothing to do: ${name} is not installed.`),
        ...removed.map((id) =>
          purge ? `Removed ${id}.` : `Removed ${id}. Its data stays; installing it again finds it.`,
        ),
        ...(switched === undefined
          ? []
          : [live ? 'The running host no longer serves it.' : 'No host is running.']),
        ...purged.map(
          ({ tables, archive }) =>
            `Dropped ${tables.join(', ')}. To bring them back, with the host stopped: app restore ${archive}`,
        ),
      ].join('\n'),
    )
  },
}
