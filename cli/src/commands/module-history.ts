import { emptyLockFile, readGenerations, readLockFile } from '@mortise/application'
import { readPresentQuarantine } from '@mortise/host'
import {
  changesBetween,
  externalChanges,
  isExternalChange,
  reportUnreadable,
} from '@mortise/installer/changes'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  examples: ['app module-history', 'app module-history --json'],

  async run({ terminal, application }) {
    const directory = await application()
    const lock = await readLockFile(directory)
    const found = await readGenerations(directory)
    reportUnreadable(found, terminal)
    const generations = found.known
    const unreadable = found.unreadable.map(({ generation, file }) => ({ generation, file }))
    const present = generations.at(-1)
    const external = present !== undefined && isExternalChange(lock, present)
    const rows = generations.map(({ generation, at, command, lock: recorded, takesBack, reason }, index) => ({
      generation,
      at,
      command,
      present: generation === present?.generation,
      changes: changesBetween(generations[index - 1]?.lock ?? emptyLockFile, recorded).map(
        ({ text }) => text,
      ),
      ...(takesBack !== undefined && { takesBack }),
      ...(reason !== undefined && { reason }),
    }))
    const lines = rows.map(
      ({ generation, at, command, present, changes, reason }) =>
        `${present ? '*' : ' '} ${generation}  ${at}  ${command}${[...changes, ...(reason ? [`reason: ${reason}`] : [])].map((change) => `\n      ${change}`).join('')}`,
    )
    const quarantined = Object.entries(await readPresentQuarantine(directory, lock)).map(
      ([id, { since, reason }]) => ({ id, since, reason }),
    )
    lines.push(
      ...quarantined.map(({ id, since, reason }) => `${id} is in quarantine since ${since}: ${reason}`),
    )
    if (external) {
      lines.push(
        `modules.lock.json has changes that are not applied: ${externalChanges(lock, present)}.`,
        'Next: app module-install, or app module-rollback',
      )
    }
    terminal.result(
      { generation: present?.generation ?? lock.generation, generations: rows, unreadable, quarantined },
      lines.length > 0 ? lines.join('\n') : 'There are no changes yet. Next: app module-install api-cart',
    )
  },
}
