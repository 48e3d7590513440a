import { hostVersion } from '@mortise/host'
import { Failure } from '@mortise/installer/failures'
import type { FoundModule } from '@mortise/installer/search'
import { searchModules } from '@mortise/installer/search'
import type { Call, Command } from '../terminal/command.ts'

export const command: Command = {
  examples: ['app search cart', 'app search product review --json'],

  async run(call) {
    const { arguments: words, terminal } = call
    const application = await applicationOf(call)
    const { modules, unasked } = await terminal.during('Searching', () =>
      searchModules(words, application, process.cwd()),
    )
    const lines = [
      ...modules.map(describe),
      ...(modules.length === 0 ? [`Nothing was found for "${words.join(' ')}".`] : []),
      ...unasked.map(({ registry, reason }) => `Not searched: ${registry}: ${reason}`),
    ]
    terminal.result({ modules, unasked }, lines.join('\n'))
  },
}

/** Undefined outside of an application: there everything but aliases is searched. */
async function applicationOf({ options, application }: Call): Promise<string | undefined> {
  try {
    return await application()
  } catch (error) {
    const nowhere = error instanceof Failure && error.code === 'no-application' && options.dir === undefined
    if (nowhere) return undefined
    throw error
  }
}

function describe(module: FoundModule): string {
  const { spec, version, description, problem } = module
  const facts = problem === null ? factsOf(module) : [`cannot be described: ${problem}`]
  return [
    `${spec}${version === null ? '' : ` ${version}`}`,
    ...(description ? [description] : []),
    facts.join('; '),
  ]
    .filter((line) => line !== '')
    .join('\n  ')
}

function factsOf({ from, package: name, spec, publisher, host, compatible, published, signed }: FoundModule) {
  const range = compatible ? 'runs on this host' : `needs host ${host}, and this is ${hostVersion}`
  const origin = signed?.repository ?? 'verified'
  return [
    ...(from === 'command' ? ['travels with the command'] : []),
    ...(from === 'alias' ? [`alias of ${name}`] : []),
    ...(from === 'folder' ? ['in your folder of tarballs'] : []),
    ...(publisher === null || from === 'command' ? [] : [`published by ${publisher}`]),
    ...(published === null ? [] : [`on ${published.slice(0, 10)} (${daysSince(published)})`]),
    ...(compatible === null ? [] : [range]),
    ...(from === 'command' || spec.startsWith('file:')
      ? []
      : [signed ? `signed, provenance ${signed.provenance ? origin : 'none'}` : 'not signed']),
  ]
}

function daysSince(time: string): string {
  const days = Math.floor((Date.now() - Date.parse(time)) / 86_400_000)
  return days < 1 ? 'today' : days === 1 ? '1 day ago' : `${days} days ago`
}
