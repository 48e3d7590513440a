import { existsSync } from 'node:fs'
import { journalFile, restorationFile } from './journal.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Runs `work`. A signal ends the process as usual, after `forget`, and a note on what stays. */
export async function whileInterruptible<Result>(
  directory: string,
  forget: () => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const end = (signal: NodeJS.Signals) => {
    process.stderr.write(`\n${leftOf(directory)}\n`)
    forget()
    for (const name of signals) process.off(name, end)
    process.kill(process.pid, signal)
  }
  for (const signal of signals) process.once(signal, end)
  try {
    return await work()
  } finally {
    for (const signal of signals) process.off(signal, end)
  }
}

function leftOf(directory: string): string {
  const isDecided = [journalFile(directory), restorationFile(directory)].some((file) => existsSync(file))
  return isDecided
    ? 'Interrupted in the middle of the change. The next command that changes the application completes or reverts it: app doctor --fix'
    : 'Interrupted. The application did not change. The next command removes the prepared files.'
}
