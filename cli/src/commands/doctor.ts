import { busyWith, withCommandLock } from '@mortise/installer/changes'
import type { Finding } from '@mortise/installer/doctor'
import { type Advisories, askAdvisories, examine } from '@mortise/installer/doctor'
import { asFailure } from '@mortise/installer/explaining'
import { findingsLeft } from '@mortise/installer/failures'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  options: [
    ['--fix', 'fix what can be fixed without loss'],
    ['--quick', 'leave out the check of each row of a SQLite file, which takes as long as reading it'],
  ],
  examples: ['app doctor', 'app doctor --quick', 'app doctor --fix'],
  changes: true,
  repairsHost: true,
  repairsEnvironment: true,

  async run({ options, terminal, application }) {
    const directory = await application()
    const fix = options.fix === true
    const quick = options.quick === true
    const found = await terminal.during('Checking', () =>
      fix
        ? withCommandLock(directory, 'doctor --fix', () => examine(directory, { fix, quick }))
        : examineBeside(directory, quick),
    )
    const { unasked, ...known } = await terminal.during('Asking for advisories', () => advisories(directory))
    const findings = [...found, ...known.findings]
    const notes = unasked.map(
      ({ registry, reason }) =>
        `Known vulnerabilities are not checked: ${registry} gave no advisories: ${reason}`,
    )
    const lines = findings.length > 0 ? findings.map(text) : ['No problems found.']
    terminal.result({ findings, advisories: { unasked } }, [...lines, ...notes].join('\n'))
    const left = findings.filter(({ severity, fixed }) => severity !== 'info' && !fixed)
    if (left.length === 0) return
    throw findingsLeft({ count: left.length })
  },
}

/** Without a readable lock file, which is a finding, nothing is known to be installed. */
async function advisories(directory: string): Promise<Advisories> {
  try {
    return await askAdvisories(directory)
  } catch (error) {
    return { findings: [], unasked: [{ registry: 'the registry', reason: asFailure(error).message }] }
  }
}

/** Runs without the command lock, so another command may begin or end in the meantime. */
async function examineBeside(directory: string, quick: boolean): Promise<Finding[]> {
  const busy = await busyWith(directory)
  const findings = await examine(directory, { fix: false, quick, busy })
  const later = busy ?? (await busyWith(directory))
  return later === busy ? findings : await examine(directory, { fix: false, quick, busy: later })
}

const text = ({ id, severity, message, hint, fixed }: Finding) =>
  `${fixed ? 'fixed' : severity}: ${id}\n  ${message}\n  ${hint}`
