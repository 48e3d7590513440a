import { busyWith, withCommandLock } from '../changes/command-lock.ts'
import { examine } from '../doctor/doctor-report.ts'
import type { Finding } from '../doctor/finding.ts'
import { findingsLeft } from '../failures/index.ts'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  options: [['--fix', 'fix what can be fixed without loss']],
  examples: ['app doctor', 'app doctor --fix'],
  changes: true,
  repairsHost: true,
  repairsEnvironment: true,

  async run({ options, terminal, application }) {
    const directory = await application()
    const fix = options.fix === true
    const findings = await terminal.during('Checking', () =>
      fix
        ? withCommandLock(directory, 'doctor --fix', () => examine(directory, { fix }))
        : examineBeside(directory),
    )
    terminal.result({ findings }, findings.length > 0 ? findings.map(text).join('\n') : 'No problems found.')
    const left = findings.filter(({ severity, fixed }) => severity !== 'info' && !fixed)
    if (left.length === 0) return
    throw findingsLeft({ count: left.length })
  },
}

/** Runs without the command lock, so another command may begin or end in the meantime. */
async function examineBeside(directory: string): Promise<Finding[]> {
  const busy = await busyWith(directory)
  const findings = await examine(directory, { fix: false, busy })
  const later = busy ?? (await busyWith(directory))
  return later === busy ? findings : await examine(directory, { fix: false, busy: later })
}

const text = ({ id, severity, message, hint, fixed }: Finding) =>
  `${fixed ? 'fixed' : severity}: ${id}\n  ${message}\n  ${hint}`
