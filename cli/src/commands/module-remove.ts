import { writeConfigSchema } from '../application-folder.ts'
import type { Command } from '../command.ts'
import { readLock } from '../host.ts'
import { changeApplication } from '../install/change-application.ts'
import { removeModules } from '../install/remove-modules.ts'
import { isServed } from '../installed-state.ts'

export const moduleRemove: Command = {
  name: 'module-remove',
  summary: 'deactivate and forget modules; their data stays',
  arguments: '<name...>',
  examples: ['app module-remove api-purchase'],

  async run({ arguments: names, terminal, application }) {
    const directory = await application()
    const command = ['module-remove', ...names].join(' ')
    const { switched, removed, absent } = await changeApplication(directory, command, terminal, () =>
      removeModules(directory, names),
    )
    await writeConfigSchema(directory)
    const generation = switched?.generation ?? (await readLock(directory)).generation
    const live = switched?.live ?? (await isServed(directory, generation))
    terminal.result(
      { generation, removed, absent, live },
      [
        ...absent.map((name) => `Nothing to do: ${name} is not installed.`),
        ...removed.map((id) => `Removed ${id}. Its data stays; installing it again finds it.`),
        ...(switched === undefined
          ? []
          : [live ? 'The running host no longer serves it.' : 'No host is running.']),
      ].join('\n'),
    )
  },
}
