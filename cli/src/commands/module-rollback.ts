import { writeConfigSchema } from '../application-folder.ts'
import type { Command } from '../command.ts'
import { Failure } from '../failure.ts'
import { changeApplication } from '../install/change-application.ts'
import { rollbackModules } from '../install/rollback-modules.ts'

export const moduleRollback: Command = {
  name: 'module-rollback',
  summary: 'go back to the former generation, or to a named one',
  arguments: '[generation]',
  examples: ['app module-rollback', 'app module-rollback 3'],

  async run({ arguments: [text], terminal, application }) {
    const directory = await application()
    const number = numberOf(text)
    const command = ['module-rollback', ...(text === undefined ? [] : [text])].join(' ')
    const { switched, ...rest } = await changeApplication(directory, command, terminal, () =>
      rollbackModules(directory, command, number),
    )
    await writeConfigSchema(directory)
    terminal.result(
      { ...rest, live: switched?.live ?? false },
      switched === undefined
        ? `Nothing to do: what generation ${rest.to} had is installed.`
        : [
            `Back to what generation ${rest.to} had, as generation ${rest.generation}.`,
            ...rest.undone.map((migration) => `Undone: ${migration}`),
          ].join('\n'),
    )
  },
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new Failure('usage', 'usage', `"${text}" is no generation.`, 'Give a number of "app module-history".')
}
