import { secondsOfLifetime } from '@mortise/host'
import { wrongOverlap } from '@mortise/installer/failures'
import { type Rotation, rotateSecret } from '@mortise/installer/settings'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  options: [
    [
      '--overlap <time>',
      'how long present tokens stay valid at most, a number and s, m, h, d, w or y (default: until the last token of "app token" expires)',
    ],
    ['--now', 'end all present tokens at once, for a secret that leaked'],
  ],
  examples: [
    'app secret rotate',
    'app secret rotate --overlap 30d    # for tokens that another program signed with the secret',
    'app secret rotate --now',
  ],
  changes: true,

  ownEnvironment: true,

  async run({ arguments: [action], options, terminal, application }) {
    if (action !== 'rotate') throw wrongOverlap({ hint: 'action', problem: `"app secret" cannot ${action}.` })
    const overlap = overlapOf(options)
    const done = await rotateSecret(await application(), overlap, (text) => terminal.note(text))
    terminal.result(done, describe(done))
  },
}

/** In seconds; undefined: as long as tokens need it. */
function overlapOf({ now, overlap }: Readonly<Record<string, unknown>>): number | undefined {
  if (overlap === undefined) return now === true ? 0 : undefined
  if (now === true)
    throw wrongOverlap({ hint: 'both', problem: '--overlap and --now contradict each other.' })
  const seconds = secondsOfLifetime(String(overlap))
  if (seconds !== undefined) return seconds
  throw wrongOverlap({ hint: 'lifetime', problem: `--overlap "${overlap}" is not a time.` })
}

function describe({ file, until, live, hosts }: Rotation): string {
  return [
    `Replaced the secret in ${file}. ${live ? 'The running host signs and verifies with it.' : 'Next: app start'}`,
    until === null
      ? 'Tokens of the previous secret are invalid now.'
      : `Tokens of the previous secret stay valid until they expire, at most until ${until}.`,
    ...(hosts.length === 0
      ? []
      : [
          `Copy ${file} (mode 0600) to every application folder that does not share it; a host reads it within 5 seconds. A host with APP_SECRET needs the new secret there, and a restart. Until then these hosts may refuse new tokens: ${hosts.join(', ')}`,
        ]),
  ].join('\n')
}
