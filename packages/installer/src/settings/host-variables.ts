import { callRunningHost } from '@mortise/host'
import type { Reporter } from '../reporting/reporter.ts'

/**
 * The variables that override settings in the running host: a file that a command writes changes
 * nothing there. Empty if no host responds.
 */
export const hostVariables = async (directory: string): Promise<readonly string[]> =>
  (await callRunningHost(directory, 'variables').catch(() => undefined))?.names ?? []

/** Says that the running host does not use what the file has. */
export async function noteOverridden(directory: string, variable: string, terminal: Reporter): Promise<void> {
  if (!(await hostVariables(directory)).includes(variable)) return
  terminal.note(
    `${variable} is set in the environment of the running host, and overrides app.config.json there.`,
  )
}
