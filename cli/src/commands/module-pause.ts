import { decisionOf, decisionText, type LockedModule } from '@mortise/application'
import { secondsOfLifetime } from '@mortise/host'
import { planOptions } from '@mortise/installer'
import { noPauseTime } from '../failures/usage.ts'
import type { Command } from '../terminal/command.ts'
import { changeInstalled } from './change-installed.ts'

/** In seconds: a year. */
const LONGEST = 366 * 86_400

export const command: Command = {
  options: [
    [
      '--for <time>',
      'a number and s, m, h, d or w; then it serves again (default: until "app module-enable")',
    ],
    ...planOptions,
  ],
  examples: ['app module-pause api-purchase --for 10m', 'app module-pause api-purchase'],
  changes: true,

  async run(call) {
    const name = call.arguments[0] as string
    const text = call.options.for as string | undefined
    const seconds = text === undefined ? undefined : secondsOfLifetime(text)
    if (text !== undefined && !(Number(seconds) <= LONGEST)) throw noPauseTime({ text })
    const words = ['module-pause', name, ...(text === undefined ? [] : ['--for', text])]
    const done = await changeInstalled(call, words, { kind: 'pause', name, seconds })
    const { generation, changed, unchanged, target, live, dryRun, planned } = done
    const [id = ''] = [...changed, ...unchanged]
    const decision = decisionOf(target.modules[id] as LockedModule)
    const until = decision.state === 'paused' ? (decision.until ?? null) : null
    call.terminal.result(
      { generation, changed, unchanged, until, ...planned, live },
      unchanged.length > 0
        ? `Nothing to do: ${id} is already ${decisionText(decision)}.`
        : dryRun
          ? `Would pause ${id}: its routes return 503.`
          : `${id} is ${decisionText(decision)}: its routes return 503. To end it: app module-enable ${id}`,
    )
  },
}
