import { endEvaluation } from '@mortise/application'
import { reportingWaits } from '@mortise/host'
import { loadOwnEnvFile, resetEnvironment, takeHostEnvironment } from '@mortise/installer/application'
import { withLockWait } from '@mortise/installer/changes'
import { explain } from '@mortise/installer/explaining'
import { Failure } from '@mortise/installer/failures'
import { ownApplication } from '@mortise/installer/locating'
import { beforeExit } from './terminal/before-exit.ts'
import type { Call, Command } from './terminal/command.ts'

beforeExit.add(endEvaluation)

/**
 * @param seconds how long it waits for another command
 * @throws {Failure}
 */
export async function runCommand(
  command: Command,
  { seconds, ...call }: Omit<Call, 'application'> & { readonly seconds: number },
): Promise<void> {
  const { options, terminal } = call
  const patience = { seconds, note: (text: string) => terminal.note(text) }
  const application = async () => {
    const directory = ownApplication(options.dir as string | undefined, process.cwd())
    await loadOwnEnvFile(directory).catch((error) => {
      if (!command.repairsEnvironment || !(error instanceof Failure)) throw error
      terminal.note(`${error.message} ${error.hint}`)
    })
    if (!command.ownEnvironment) await takeHostEnvironment(directory)
    return directory
  }
  try {
    await reportingWaits(patience.note, () =>
      withLockWait(patience, () => command.run({ ...call, application })),
    )
  } catch (error) {
    throw await explain(error)
  } finally {
    resetEnvironment()
  }
}
