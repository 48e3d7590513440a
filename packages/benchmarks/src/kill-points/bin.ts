import { parseArgs } from 'node:util'
import { fail, UsageError } from '../command-line.ts'
import { type CommandName, commandNames } from './commands.ts'
import { hasStrace } from './trace.ts'
import { type Result, tryPoints, type Victim, victims } from './try-points.ts'

const usage = `Usage: npm run kill-points -w packages/benchmarks -- [--command NAME] [--victim NAME] [--every N] [--seed N]

Kills a command, or the host that carries it out, after every system call that changes something (strace counts
them), and checks what is left: the application serves as before or as after, its rows are there; the next command
completes the change or takes it back; doctor finds nothing; repeating the command succeeds and no file is left over.

--command  one of ${commandNames.join(', ')}; all where it is missing
--victim   one of ${victims.join(', ')} (the command where no host runs, or where one does; that host); all where it is missing
--every    only every so manyth call (1), --seed: which of them (0)
`

try {
  const { values } = parseArgs({
    options: {
      command: { type: 'string' },
      victim: { type: 'string' },
      every: { type: 'string', default: '1' },
      seed: { type: 'string', default: '0' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) process.stdout.write(usage)
  else {
    if (!hasStrace()) throw new UsageError('strace is missing: install it (apt-get install strace)')
    const commands = oneOf(commandNames, values.command, '--command')
    const who = oneOf(victims, values.victim, '--victim')
    const every = numberFrom(1, values.every, '--every')
    const offset = numberFrom(0, values.seed, '--seed')
    const results: Result[] = []
    const onResult = (result: Result) => {
      results.push(result)
      process.stdout.write(describe(result))
    }
    const folder = await tryPoints({ commands, victims: who, every, offset, onResult })
    const failures = results.flatMap((result) => result.failures).length
    const tried = results.reduce((sum, result) => sum + result.tried, 0)
    process.stdout.write(`All: ${tried} points tried, ${failures} failures.\n`)
    if (failures > 0) {
      process.stdout.write(`What they left is in ${folder}\n`)
      process.exitCode = 1
    }
  }
} catch (error) {
  fail(error, usage)
}

function describe({ command, victim, tried, states, failures }: Result): string {
  const repeat = (number: number) =>
    `--command '${command}' --victim ${victim} --every 1000000 --seed ${number}`
  const lines = failures.map(
    ({ number, call, failure }) =>
      `  ${number}: ${call}\n    ${failure.trim()}\n    Again: ${repeat(number)}\n`,
  )
  return `${command}, ${victim}: ${tried} points tried (${states} different states), ${failures.length} failures.\n${lines.join('')}`
}

function oneOf<Name extends CommandName | Victim>(
  names: readonly Name[],
  text: string | undefined,
  option: string,
) {
  const chosen = names.filter((name) => text === undefined || name === text)
  if (chosen.length === 0) throw new UsageError(`${option} ${text}: there are ${names.join(', ')}`)
  return chosen
}

function numberFrom(least: number, text: string, option: string): number {
  const number = Number(text)
  if (Number.isInteger(number) && number >= least) return number
  throw new UsageError(`${option} ${text}: write a number from ${least}`)
}
