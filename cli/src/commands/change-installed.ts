import { readConfig } from '@mortise/application'
import { callApplication, forgetEnds, readQuarantine } from '@mortise/host'
import type { Applied, Asked } from '@mortise/installer'
import { changeModules, digestOf, secondsToSettle, settledText, waitUntilSettled } from '@mortise/installer'
import { ownEnvironment, writeConfigSchema } from '@mortise/installer/application'
import { isServed } from '@mortise/installer/store'
import type { Call } from '../terminal/command.ts'

interface ChangedInstalled extends Applied {
  readonly directory: string
  readonly dryRun: boolean
  readonly live: boolean
  readonly settled: boolean | undefined
  readonly planned: { readonly dryRun: boolean; readonly digest: string; readonly probed: boolean }
}

/**
 * Changes what is installed, and waits as the options say.
 * @param words the command line, for the history
 */
export async function changeInstalled(
  { options, terminal, application }: Call,
  words: readonly string[],
  asked: Asked,
): Promise<ChangedInstalled> {
  const seconds = secondsToSettle(options.settle)
  const directory = await application()
  const dryRun = options.dryRun === true
  const applied = await changeModules({
    ...{ ...asked, directory, command: words.join(' '), terminal, dryRun },
    yes: options.yes === true,
    plan: options.plan as string | undefined,
    offline: options.offline === true,
    failOnBreaking: options.failOnBreaking === true,
    allowNew: options.allowNew === true,
  })
  if (!dryRun) await writeConfigSchema(directory)
  const live = applied.switched?.live ?? (await isServed(directory))
  const settled = await waitUntilSettled(directory, applied.switched, seconds, terminal)
  return {
    ...applied,
    directory,
    dryRun,
    live,
    settled,
    planned: { dryRun, digest: digestOf(applied), probed: applied.probed },
  }
}

/** Enables or disables modules, and reports the result. */
export async function switchModules(call: Call, kind: 'enable' | 'disable'): Promise<void> {
  const names = call.arguments
  const done = await changeInstalled(call, [`module-${kind}`, ...names], { kind, names })
  const { generation, changed, unchanged, dependants, live, settled } = done
  const { dryRun } = done
  const released =
    kind === 'enable' && !dryRun ? await releaseFrom(done.directory, [...changed, ...unchanged]) : []
  call.terminal.result(
    {
      generation,
      changed,
      unchanged,
      dependants,
      released,
      live,
      ...done.planned,
      ...(settled !== undefined && { settled }),
    },
    [
      ...released.map((id) => `Ended the quarantine of ${id}.`),
      ...unchanged
        .filter((id) => !released.includes(id))
        .map((id) => `Nothing to do: ${id} is already ${kind}d.`),
      ...changed.map(
        (id) => `${dryRun ? `Would ${kind}` : kind === 'enable' ? 'Enabled' : 'Disabled'} ${id}.`,
      ),
      ...settledText(settled),
    ].join('\n'),
  )
}

/** Opens the database only if it may hold a quarantine: on a full disk it may not open. */
async function releaseFrom(directory: string, modules: readonly string[]): Promise<readonly string[]> {
  const isHeld = Object.keys(await readQuarantine(directory)).some((id) => modules.includes(id))
  const { databaseFile } = await readConfig(directory, ownEnvironment())
  if (!isHeld && databaseFile !== undefined && !(await isServed(directory))) {
    await forgetEnds(directory, modules)
    return []
  }
  const { released } = await callApplication(directory, 'release', { modules })
  return released
}
