import { execFile } from 'node:child_process'
import type { CommandResult, CommandStreams } from '@mortise/module-sdk'

/** A command that hangs ends after this time, in milliseconds. An installation asks registries. */
const TIMEOUT = 600_000
const MOST_OUTPUT = 64 * 1024 * 1024

/**
 * Runs the command `app` for the application in `directory`.
 * @param program its file
 * @param argv the command and all that follows
 */
export function runCommand(
  program: string,
  directory: string,
  [command = '', ...argv]: readonly string[],
  { input = '', onNotes = () => {} }: CommandStreams = {},
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
    child.stdin?.on('error', () => {}) // it ended without reading, and reports why
    child.stdin?.end(input)
  })
}

function documentIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
