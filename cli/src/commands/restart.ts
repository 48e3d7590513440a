import type { Command } from '../command.ts'
import { Failure } from '../failure.ts'
import { callRunningHost, HostRefusedError } from '../host.ts'
import { whileLocked } from '../install/command-lock.ts'
import { assertInForce } from '../install/in-force.ts'

export const restart: Command = {
  name: 'restart',
  summary: 'replace the processes of "app start --workers" one by one; no request fails',
  examples: ['app restart'],
  changes: true,

  async run({ terminal, application }) {
    const directory = await application()
    await assertInForce(directory)
    const replaced = await whileLocked(directory, 'restart', () =>
      terminal.during('Replacing its processes one by one', () => callRunningHost(directory, 'restart')),
    ).catch((error) => {
      throw error instanceof HostRefusedError ? notRestarted(error) : error
    })
    if (replaced === undefined) {
      throw new Failure('notFound', 'not-running', 'No host runs this application.', 'Start it: app start')
    }
    terminal.result(replaced, `Replaced ${replaced.workers} processes.`)
  },
}

const notRestarted = ({ status, reason }: HostRefusedError) =>
  new Failure(
    status === 409 ? 'refused' : 'unexpected',
    'not-restarted',
    `The host was not restarted: ${reason}.`,
    'It serves as before. Mend what it says; one without --workers is stopped and started again.',
  )
