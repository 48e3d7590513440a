import { readConfig } from '@mortise/application'
import { callApplication, secondsOfLifetime } from '@mortise/host'
import type { AsyncFindings } from './finding.ts'

/** Whether scheduled backups succeed. Other checks report a wrong configuration or database. */
export async function* checkBackups(directory: string): AsyncFindings {
  const { backup } = (await readConfig(directory).catch(() => undefined)) ?? {}
  if (backup?.every === undefined || backup.to === undefined) return
  const times = await callApplication(directory, 'backups').catch(() => undefined)
  if (times === undefined) return
  const { last, failed } = times
  const every = (secondsOfLifetime(backup.every) as number) * 1000
  const good = last === null ? 'There is no good one' : `The last good one is of ${textOf(last)}`
  const hint = `Look for the reason in the output of the host, and check the folder (df -h ${backup.to}).`
  if (failed !== null && failed > (last ?? 0)) {
    yield {
      id: 'backup-failed',
      severity: 'error',
      message: `The scheduled backup of ${textOf(failed)} failed. ${good}.`,
      hint,
    }
  } else if (last === null || Date.now() - last > 2 * every) {
    yield {
      id: 'backup-old',
      severity: last === null ? 'warning' : 'error',
      message: `A backup is due every ${backup.every}, and none was made in that time. ${good}.`,
      hint: `Only a running host backs up: start it. ${hint}`,
    }
  }
}

const textOf = (time: number) => new Date(time).toISOString()
