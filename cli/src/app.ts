import { capitalised, type Failure } from '@mortise/installer/failures'
import { useCommand } from '@mortise/installer/locating'
import { Command as Commander, CommanderError } from 'commander'
import { commands, hiddenCommands } from './commands/index.ts'
import { missingCommand, noSecondsToWait, wrongUsage } from './failures/usage.ts'
import { calledFolder, ownFolder } from './pinned/pinned-host.ts'
import { version } from './pinned/version.ts'
import type { Command } from './terminal/command.ts'
import { Terminal, type TerminalStreams } from './terminal/terminal.ts'

useCommand({ own: ownFolder, called: calledFolder() })

/**
 * Runs the `app` command and writes its result to `streams`.
 * @param argv without the program name
 * @param pinned the reason why the pinned host cannot run the command; only commands that can
 * repair that run then
 * @returns the exit code
 */
export async function app(
  argv: readonly string[],
  streams: TerminalStreams,
  pinned?: Failure,
): Promise<number> {
  // Commander has no help text for `help`.
  if (argv[0] === 'help' && argv[1] === 'help') return await app(argv.slice(1), streams, pinned)
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const terminal = new Terminal(streams, own.includes('--json'), own.includes('--verbose'))
  const help: string[] = []
  const root = await program(argv, terminal, help, pinned)
  const isCommon = (word: string) => word === '--json' || word === '--verbose'
  try {
    if (own.every(isCommon)) throw missingCommand()
    await root.parseAsync(withoutBareWait(argv), { from: 'user' })
    return 0
  } catch (error) {
    // For `help` of an unknown command Commander prints its general help.
    const unknown = isHelp(error) ? unknownCommand(root.args) : undefined
    if (unknown !== undefined) return await app([unknown, ...own.filter(isCommon)], streams)
    if (error instanceof CommanderError && error.exitCode === 0) {
      terminal.result({ text: help.join('') }, help.join(''))
      return 0
    }
    return report(await failureFor(error), terminal, own.includes('--verbose'))
  }
}

async function failureFor(error: unknown): Promise<Failure> {
  if (error instanceof CommanderError) return wrongUsage({ problem: problemOf(error) })
  const { explain } = await import('@mortise/installer/explaining')
  return await explain(error)
}

/** Commander's message as a sentence. */
function problemOf({ message }: CommanderError): string {
  const text = message
    .replace(/^error: /, '')
    .replace(/\.?\s*\n\(Did you mean (.*)\?\)$/, '. Did you mean $1?')
  return capitalised(text)
}

/** @param help collects commander's own output, in pieces */
async function program(
  argv: readonly string[],
  terminal: Terminal,
  help: string[],
  pinned: Failure | undefined,
): Promise<Commander> {
  const root = new Commander('app')
    .description('Creates a Mortise application, installs modules and runs it.')
    .version(version, '-v, --version', 'print the version')
  root.addHelpText(
    'after',
    '\nStart here:\n  app init my-api && cd my-api && app module-install api-cart && app start',
  )
  prepare(root, help)
  for (const listed of [...commands, ...hiddenCommands]) {
    const { name, alias = name, summary, arguments: words } = listed
    const own = new Commander(name).description(summary)
    if (alias !== name) own.alias(alias)
    if (words) own.arguments(words)
    root.addCommand(own, { hidden: hiddenCommands.includes(listed) })
    if (!argv.includes(name) && !argv.includes(alias)) prepare(own, help)
    else complete(own, await listed.load(), terminal, help, pinned)
  }
  return root
}

function complete(
  own: Commander,
  command: Command,
  terminal: Terminal,
  help: string[],
  pinned: Failure | undefined,
): void {
  for (const [flags, description] of command.options ?? []) own.option(flags, description)
  if (command.changes) own.option(...wait)
  own.addHelpText('after', `\nExamples:\n${command.examples.map((line) => `  ${line}`).join('\n')}`)
  prepare(own, help, command.directory)
  own.action(async () => {
    if (pinned && !command.repairsHost) throw pinned
    if (pinned) terminal.note(pinned.message)
    const options = own.optsWithGlobals()
    const call = { arguments: own.args, options, terminal, seconds: secondsOf(options.wait) }
    const { runCommand } = await import('./run-command.ts')
    await runCommand(command, call)
  })
}

const wait = [
  '--wait [seconds]',
  'wait while another command changes the application; without a number: no limit',
] as const

/** Its value is a number: `app module-install --wait api-cart` has none. */
function withoutBareWait(argv: readonly string[]): string[] {
  const at = argv.indexOf('--wait')
  const isOption = at !== -1 && !argv.slice(0, at).includes('--')
  return isOption && !isSeconds(argv[at + 1]) ? argv.with(at, '--wait=') : [...argv]
}

const isSeconds = (text = '') => /^\d+(\.\d+)?$/.test(text)

function secondsOf(text: string | undefined): number {
  if (text === undefined) return 0
  if (text === '') return Number.POSITIVE_INFINITY
  if (isSeconds(text)) return Number(text)
  throw noSecondsToWait({ text })
}

function prepare(
  command: Commander,
  help: string[],
  directory = 'the application folder (default: this folder or the nearest one above)',
): void {
  command
    .option('--dir <dir>', directory)
    .option('--json', 'print one JSON document')
    .option('--verbose', 'print all details of a plan, and stack traces')
    .helpOption('-h, --help', 'print this help')
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => help.push(text),
      writeErr: () => {}, // `app` reports every failure
    })
}

function isHelp(error: unknown): boolean {
  return error instanceof CommanderError && error.code.startsWith('commander.help')
}

/** @param words the arguments after the options of `app` itself */
function unknownCommand(words: readonly string[]): string | undefined {
  const name = words.find((word) => word !== 'help')
  const isKnown = commands.some((command) => [command.name, command.alias].includes(name))
  return isKnown || name?.startsWith('-') ? undefined : name
}

function report(failure: Failure, terminal: Terminal, verbose: boolean): number {
  const { code, exitCode, message, hint, details } = failure
  const text = `${message}\n${hint}`
  if (terminal.json) terminal.result({ error: { code, exitCode, message, hint, ...details } }, text)
  else terminal.note(text)
  if (verbose) terminal.note(stackOf(failure))
  return exitCode
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : ''
  return `${error.stack}${cause}`
}
