import type { Command } from '../command.ts'
import { examine } from '../doctor/examine.ts'
import type { Finding } from '../doctor/finding.ts'
import { Failure } from '../failure.ts'
import { whileLocked } from '../install/command-lock.ts'

export const doctor: Command = {
  name: 'doctor',
  summary: 'look the application over: packages, leftovers, configuration, database, running host',
  options: [['--fix', 'mend what can be mended without losing anything']],
  examples: ['app doctor', 'app doctor --fix'],
  mendsHost: true,

  async run({ options, terminal, application }) {
    const directory = await application()
    const fix = options.fix === true
    const findings = await whileLocked(directory, fix ? 'doctor --fix' : 'doctor', () =>
      terminal.during('Examining', () => examine(directory, fix)),
    )
    terminal.result({ findings }, findings.length > 0 ? findings.map(text).join('\n') : 'All is well.')
    const left = findings.filter(({ severity, fixed }) => severity !== 'info' && !fixed)
    if (left.length === 0) return
    throw new Failure(
      'unexpected',
      'findings-left',
      left.length === 1 ? 'One finding needs seeing to.' : `${left.length} findings need seeing to.`,
      fix ? 'Do what each of them says.' : 'Do what each of them says; "app doctor --fix" mends what it can.',
    )
  },
}

const text = ({ id, severity, message, hint, fixed }: Finding) =>
  `${fixed ? 'fixed' : severity}: ${id}\n  ${message}\n  ${hint}`
