import { completeClone, newSecretNote } from '../application-folder.ts'
import type { Command } from '../command.ts'
import { isRestorationLeft } from '../data/restore-journal.ts'
import { withUser } from '../database-in-use.ts'
import { Failure } from '../failure.ts'
import { Application, BrokenStorageError } from '../host.ts'
import { blocksStart } from '../install/apply-change.ts'
import { changeApplication } from '../install/change-application.ts'
import { assertSound } from '../install/replace-host.ts'

export const start: Command = {
  name: 'start',
  summary: 'run the application',
  options: [
    ['--port <port>', 'the port to listen on; 0 takes any free one (default: server.port, 3000)'],
    ['--host <address>', 'the address to listen on (default: server.host, 127.0.0.1)'],
  ],
  examples: ['app start', 'app start --port 8080 --host 0.0.0.0'],

  async run({ options, terminal, application }) {
    const directory = await application()
    const port = portOf(options.port as string | undefined)
    await assertSound(directory)
    const note = newSecretNote(directory, await completeClone(directory))
    if (note !== undefined) terminal.note(note)
    if (isRestorationLeft(directory) || (await blocksStart(directory)))
      await changeApplication(directory, 'start', terminal, async () => {})
    const running = await startOn(directory, port, options.host as string | undefined)
    const { pid, host, url, generation, modules } = running.state()
    const lines = modules.map(
      ({ id, version, state, reason }) =>
        `  ${id} ${version}${state === 'active' ? '' : ` (${state}${reason ? `: ${reason}` : ''})`}`,
    )
    const stopped = untilStopped(running)
    terminal.result(
      { pid, host, url, generation, modules },
      [
        `Serving ${url}`,
        `Host ${host}`,
        ...(lines.length > 0 ? ['Installed:', ...lines] : ['Nothing is installed yet.']),
        lines.length > 0
          ? `Try: curl ${url}/ or open ${url}/docs`
          : 'Next, in another terminal: app module-install api-cart',
      ].join('\n'),
    )
    await stopped
  },
}

/** Stops in good order at the first signal; a second one ends the process as it always does. */
async function untilStopped(running: Application): Promise<void> {
  const stop = () => {
    for (const signal of signals) process.off(signal, stop)
    void running.close()
  }
  for (const signal of signals) process.once(signal, stop)
  try {
    await running.closed
  } catch (error) {
    if (!(error instanceof BrokenStorageError)) throw error
    throw new Failure(
      'fatal',
      'storage-failed',
      `The host stopped, since it cannot trust its database any more: ${(error as Error).message}`,
      'Check the disk, then start it again: what was acknowledged is in the database.',
      { cause: error },
    )
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new Failure('usage', 'usage', `"${text}" is no port.`, 'Give a number from 0 to 65535.')
}

const unusable: Readonly<Record<string, string>> = {
  EACCES: 'this user may not, as with ports below 1024',
  EADDRNOTAVAIL: 'it is none of this machine',
  ENOTFOUND: 'no such host is known',
}

async function startOn(
  directory: string,
  port: number | undefined,
  host: string | undefined,
): Promise<Application> {
  try {
    return await Application.start({ directory, port, host, ownsProcess: true })
  } catch (error) {
    const { code, syscall, ...at } = error as NodeJS.ErrnoException & { address?: string; port?: number }
    if (code === 'EADDRINUSE') {
      throw new Failure(
        'unexpected',
        'port-in-use',
        `Port ${at.port} of ${at.address} is taken by another program.`,
        'Stop what listens there, or choose another one: app start --port 8080',
        { cause: error },
      )
    }
    if ((syscall === 'listen' || syscall === 'getaddrinfo') && code && Object.hasOwn(unusable, code)) {
      throw new Failure(
        'unexpected',
        'cannot-listen',
        `The address cannot be listened on: ${unusable[code]}.`,
        'Choose another --host or --port.',
        { cause: error },
      )
    }
    throw await withUser(directory, error)
  }
}
