import type { Command } from '../command.ts'
import { emptyLock, lockedPackages, readLock } from '../host.ts'
import { type Generation, readGenerations } from '../install/generations.ts'

export const moduleHistory: Command = {
  name: 'module-history',
  summary: 'list every generation: when, by which command, what changed',
  examples: ['app module-history', 'app module-history --json'],

  async run({ terminal, application }) {
    const directory = await application()
    const lock = await readLock(directory)
    const generations = await readGenerations(directory, lock)
    const rows = generations.map(({ at, command, lock: { generation } }, index) => ({
      generation,
      at,
      command,
      present: generation === lock.generation,
      changes: changesBetween(generations[index - 1], generations[index] as Generation),
    }))
    const lines = rows.map(
      ({ generation, at, command, present, changes }) =>
        `${present ? '*' : ' '} ${generation}  ${at}  ${command}${changes.map((change) => `\n      ${change}`).join('')}`,
    )
    terminal.result(
      { generation: lock.generation, generations: rows },
      lines.length > 0 ? lines.join('\n') : 'Nothing was changed yet. Next: app module-install api-cart',
    )
  },
}

/** What one generation has that the one before had not, and the other way round. */
function changesBetween(before: Generation | undefined, after: Generation): string[] {
  const former = lockedPackages(before?.lock ?? emptyLock)
  const latter = lockedPackages(after.lock)
  const names = [...new Set([...former.keys(), ...latter.keys()])]
  return names.flatMap((id) => {
    const [was, is] = [former.get(id), latter.get(id)]
    if (!was) return [`+ ${id} ${is?.version}`]
    if (!is) return [`- ${id} ${was.version}`]
    if (was.version !== is.version) return [`~ ${id} ${was.version} → ${is.version}`]
    if (was.enabled !== is.enabled) return [`~ ${id} ${is.enabled ? 'enabled' : 'disabled'}`]
    return was.tree === is.tree ? [] : [`~ ${id} ${is.version}, other files`]
  })
}
