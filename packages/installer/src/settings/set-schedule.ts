import { join } from 'node:path'
import { readConfig } from '@mortise/application'
import { callRunningHost } from '@mortise/host'
import { assertFolder } from '../data/assert-folder.ts'
import { changeApplication } from '../install/pipeline.ts'
import type { Reporter } from '../reporting/reporter.ts'
import { changeSetting } from './change-setting.ts'

export interface Schedule {
  readonly directory: string
  readonly every: string
  /** Absolute. */
  readonly to: string
  readonly keep: string | undefined
  readonly terminal: Reporter
}

/**
 * Sets the schedule of backups, for any host of the application.
 * @throws {Failure} for an invalid value, or if the folder does not exist
 */
export async function setSchedule({ directory, every, to, keep, terminal }: Schedule) {
  await assertFolder(join(to, 'backup'))
  const command = `backup --every ${every} --to ${to}${keep === undefined ? '' : ` --keep ${keep}`}`
  await changeApplication(directory, command, terminal, async () => {
    const values = { to, ...(keep !== undefined && { keep }), every }
    // The interval is last: without it there are no backups.
    for (const [name, value] of Object.entries(values))
      await changeSetting({ directory, command, key: `backup.${name}`, value, terminal })
  })
  const { backup } = await readConfig(directory)
  const running = (await callRunningHost(directory, 'state')) !== undefined
  return { ...backup, running }
}
