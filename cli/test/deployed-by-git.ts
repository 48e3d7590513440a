import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFilePath } from '@mortise/application'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { versionsOfNote } from './note-versions.ts'
import { copiesOf, runApp } from './run-app.ts'

export const frozen = ['module-install', '--frozen'] as const

/** The locks that staging has committed, one after the other. */
export const commits = (root: string, name: 'v1' | 'v2' | 'other') => join(root, `${name}.lock.json`)

/** A production where staging's first commit is deployed. */
export const production = copiesOf(async (application) => {
  const { root, run } = application
  const staging = join(root, 'staging')
  await runApp('init', staging, '--json')
  const { v1, v2 } = await versionsOfNote(application, 'ALTER TABLE note DROP COLUMN colour')
  const other = await sampleTarball(join(root, 'other.tgz'), { id: 'other' })
  for (const [name, spec] of Object.entries({ v1, v2, other })) {
    const { exitCode, stdout } = await runApp('module-install', '--yes', spec, '--dir', staging, '--json')
    if (exitCode !== 0) throw new Error(stdout)
    await writeFile(commits(root, name as 'v1'), await readFile(lockFilePath(staging)))
  }
  await checkOut(application, 'v1')
  const { exitCode, stdout } = await run(...frozen)
  if (exitCode !== 0) throw new Error(stdout)
})

export interface Place {
  readonly root: string
  readonly directory: string
}

/** As git does: the previous file goes, and another one comes. */
export async function checkOut({ root, directory }: Place, name: 'v1' | 'v2' | 'other'): Promise<string> {
  const text = await readFile(commits(root, name), 'utf8')
  await rm(lockFilePath(directory), { force: true })
  await writeFile(lockFilePath(directory), text)
  return text
}

export const lockText = ({ directory }: Place) => readFile(lockFilePath(directory), 'utf8')
export const snapshot = ({ directory }: Place, generation: number) =>
  join(directory, '.app', 'snapshots', `${generation}.db`)
