import { planOptions, YES } from '@mortise/installer'
import { purgeText, restoreCommand } from '@mortise/installer/data'
import type { Command } from '../terminal/command.ts'
import { changeInstalled } from './change-installed.ts'

export const command: Command = {
  options: [
    ['--purge', 'also drop their tables; writes an archive for "app restore" first'],
    ['--yes', YES],
    ...planOptions,
  ],
  examples: ['app module-remove api-purchase', 'app module-remove --purge api-purchase'],
  changes: true,

  async run(call) {
    const names = call.arguments
    const purge = call.options.purge === true
    const words = ['module-remove', ...(purge ? ['--purge'] : []), ...names]
    const done = await changeInstalled(call, words, { kind: 'remove', names, purge })
    const {
      directory,
      switched,
      generation,
      changed: removed,
      absent,
      purged,
      dependants,
      live,
      dryRun,
    } = done
    call.terminal.result(
      {
        generation,
        removed,
        absent,
        dependants,
        purged: purged.map((each) => ({ ...each, restore: restoreCommand(directory, each.archive) })),
        ...(dryRun && { drops: done.purge.drops }),
        ...done.planned,
        live,
      },
      [
        ...absent.map((name) => `Nothing to do: ${name} is not installed.`),
        ...removed.map((id) =>
          dryRun
            ? `Would remove ${id}.`
            : purge
              ? `Removed ${id}.`
              : `Removed ${id}. Its data stay for a later installation.`,
        ),
        ...(dryRun && done.purge.drops.length > 0 ? [`Would drop ${purgeText(done.purge)}.`] : []),
        ...(switched === undefined
          ? []
          : [live ? 'The running host no longer serves it.' : 'The application is not running.']),
        ...purged.map(
          ({ tables, archive }) =>
            `Dropped ${tables.join(', ')}. To restore them, stop the host first: ${restoreCommand(directory, archive)}`,
        ),
      ].join('\n'),
    )
  },
}
