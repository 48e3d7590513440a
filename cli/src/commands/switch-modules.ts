import { changeModules } from '../install/pipeline.ts'
import { secondsToSettle, settledText, waitUntilSettled } from '../install/settle.ts'
import { isServed } from '../store/installed-state.ts'
import type { Call } from '../terminal/command.ts'

/** Enables or disables modules, and reports the result. */
export async function switchModules(
  { arguments: names, options, terminal, application }: Call,
  kind: 'enable' | 'disable',
): Promise<void> {
  const seconds = secondsToSettle(options.settle)
  const directory = await application()
  const command = [`module-${kind}`, ...names].join(' ')
  const done = await changeModules({ kind, names, directory, command, terminal })
  const { switched, generation, changed, unchanged } = done
  const settled = await waitUntilSettled(directory, switched, seconds, terminal)
  const live = switched?.live ?? (await isServed(directory))
  terminal.result(
    { generation, changed, unchanged, live, ...(settled !== undefined && { settled }) },
    [
      ...unchanged.map((id) => `Nothing to do: ${id} is already ${kind}d.`),
      ...changed.map((id) => `${kind === 'enable' ? 'Enabled' : 'Disabled'} ${id}.`),
      ...settledText(settled),
    ].join('\n'),
  )
}
