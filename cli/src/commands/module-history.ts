import type { Command } from '../command.ts'
import { emptyLock, readLock } from '../host.ts'
import { changesBetween } from '../install/changes-between.ts'
import { readGenerations } from '../install/generations.ts'

export const moduleHistory: Command = {
  name: 'module-history',
  summary: 'list every generation: when, by which command, what changed',
  examples: ['app module-history', 'app module-history --json'],

  async run({ terminal, application }) {
    const directory = await application()
    const lock = await readLock(directory)
    const generations = await readGenerations(directory, lock)
    const rows = generations.map(({ at, command, lock: recorded, takesBack, reason }, index) => ({
      generation: recorded.generation,
      at,
      command,
      present: recorded.generation === lock.generation,
      changes: changesBetween(generations[index - 1]?.lock ?? emptyLock, recorded).map(({ text }) => text),
      ...(takesBack !== undefined && { takesBack }),
      ...(reason !== undefined && { reason }),
    }))
    const lines = rows.map(
      ({ generation, at, command, present, changes, reason }) =>
        `${present ? '*' : ' '} ${generation}  ${at}  ${command}${[...changes, ...(reason ? [`reason: ${reason}`] : [])].map((change) => `\n      ${change}`).join('')}`,
    )
    terminal.result(
      { generation: lock.generation, generations: rows },
      lines.length > 0 ? lines.join('\n') : 'Nothing was changed yet. Next: app module-install api-cart',
    )
  },
}
