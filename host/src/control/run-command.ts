import { execFile } from 'node:child_process'
import type { CommandResult } from '@mortise/module-sdk'
import type { OperatedProcess } from '../modules/operator.ts'

/** A command that hangs ends after this time, in milliseconds. An installation asks registries. */
const TIMEOUT = 600_000
const MOST_OUTPUT = 64 * 1024 * 1024

/** @param program the file of the command `app` */
export const processOf = (directory: string, program: string, url: () => string): OperatedProcess => ({
  run: (argv, onNotes) => runCommand(program, directory, argv, onNotes),
  url,
})

function runCommand(
  program: string,
  directory: string,
  [command = '', ...argv]: readonly string[],
  onNotes: (text: string) => void = () => {},
): Promise<CommandResult> {
  const words = [program, command, '--json', '--dir', directory, ...argv]
  const limits = { timeout: TIMEOUT, maxBuffer: MOST_OUTPUT }
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, words, limits, (error, stdout, notes) => {
      const exitCode = child.exitCode
      if (exitCode === null) return reject(error ?? new Error(`app ${command} was ended by a signal`))
      resolve({ exitCode, document: documentIn(stdout), notes })
    })
    child.stderr?.on('data', onNotes)
    child.stdin?.end()
  })
}

function documentIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
