import { writeConfigSchema } from '../application-folder.ts'
import { askBeforeLoss, YES } from '../ask-before-loss.ts'
import type { Command } from '../command.ts'
import { restoreCommand } from '../data/archives.ts'
import { planPurge, purgeModules, purgeText } from '../data/purge-modules.ts'
import { asFailure } from '../explain.ts'
import { type Failure, failureOf } from '../failures/index.ts'
import { readLock } from '../host.ts'
import { changeApplication } from '../install/change-application.ts'
import { removeModules } from '../install/remove-modules.ts'
import { isServed } from '../installed-state.ts'

export const moduleRemove: Command = {
  name: 'module-remove',
  summary: 'deactivate and forget modules; their data stays unless it is purged',
  arguments: '<name...>',
  options: [
    ['--purge', 'also drop their tables, after writing an archive that "app restore" brings back'],
    ['--yes', YES],
  ],
  examples: ['app module-remove api-purchase', 'app module-remove --purge api-purchase'],
  changes: true,

  async run({ arguments: names, options, terminal, application }) {
    const directory = await application()
    const purge = options.purge === true
    const command = ['module-remove', ...(purge ? ['--purge'] : []), ...names].join(' ')
    const { switched, removed, absent, purged } = await changeApplication(
      directory,
      command,
      terminal,
      async () => {
        const plan = purge ? await planPurge(directory, names) : { modules: [], drops: [] }
        const done = await removeModules(directory, command, names, async () => {
          if (plan.drops.length === 0) return
          terminal.note(`Drops ${purgeText(plan)}. An archive of them precedes it.`)
          await askBeforeLoss(terminal, options.yes === true, 'Drop that?')
        })
        try {
          return { ...done, purged: await purgeModules(directory, plan.modules) }
        } catch (error) {
          throw notPurged(done.removed, error)
        }
      },
    )
    await writeConfigSchema(directory)
    const generation = switched?.generation ?? (await readLock(directory)).generation
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
          purge ? `Removed ${id}.` : `Removed ${id}. Its data stays; installing it again finds it.`,
        ),
        ...(switched === undefined
          ? []
          : [live ? 'The running host no longer serves it.' : 'No host is running.']),
        ...purged.map(
          ({ tables, archive }) =>
            `Dropped ${tables.join(', ')}. To bring them back, with the host stopped: ${restoreCommand(directory, archive)}`,
        ),
      ].join('\n'),
    )
  },
}

/** What has come up after the removal: it cannot be known before. */
function notPurged(removed: readonly string[], error: unknown): Failure {
  const { exitCode, code, message } = asFailure(error)
  const which = removed.length === 0 ? 'The data' : `${removed.join(', ')} is removed. Its data`
  return failureOf({
    exitCode,
    code,
    message: `${which} is not dropped: ${message}`,
    hint: 'The tables that are left are as they were. Run the command again after that: it goes on where this one stopped.',
  })
}
