import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, rename, rm } from 'node:fs/promises'
import { setPriority } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { readConfig, readIdentity, withoutEnvFile } from '@mortise/application'
import { callRunningHost, secondsOfLifetime } from '@mortise/host'
import { reservedBytes, syncPath, volumeOf } from '@mortise/storage'
import { calledFolder } from '../application/command-folder.ts'
import { assertFolder } from './assert-folder.ts'
import { assertRoom, sizeOfDatabase } from './disk-room.ts'

// Scheduled backups are made beside the host, by a process of low priority: `app backup`, then
// `app backup verify`. An archive gets its name after it was restored to a scratch database, and
// only then older ones are deleted.

/** How often it looks whether a backup is due, and says that one is running, in milliseconds. */
const INTERVAL = 30_000
const UNVERIFIED = '.unverified-'

type Note = (text: string) => void

/** Makes the backups of the setting "backup" until `signal` aborts. */
export async function scheduleBackups(directory: string, note: Note, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await backUpIfDue(directory, note, signal).catch((error: Error) =>
      note(`The scheduled backup failed: ${error.message}`),
    )
    await sleep(INTERVAL, undefined, { signal, ref: false }).catch(() => {})
  }
}

/** @returns the file; undefined if no backup was due, or it failed */
export async function backUpIfDue(
  directory: string,
  note: Note,
  signal: AbortSignal = new AbortController().signal,
): Promise<string | undefined> {
  const { backup } = await readConfig(directory)
  if (backup.every === undefined || backup.to === undefined) return undefined
  const every = (secondsOfLifetime(backup.every) as number) * 1000
  const begun = (await callRunningHost(directory, 'claimBackup', { every }))?.begun ?? null
  if (begun === null) return undefined
  const report = (outcome: 'running' | 'done' | 'failed') =>
    callRunningHost(directory, 'noteBackup', { outcome, begun, every })
  const timer = setInterval(() => void report('running').catch(() => {}), INTERVAL).unref()
  try {
    const file = await makeBackup(directory, resolve(directory, backup.to), begun, signal)
    clearInterval(timer)
    await report('done')
    await deleteOlder(file, backup.keep)
    return file
  } catch (error) {
    clearInterval(timer)
    if (!signal.aborted) note(`The scheduled backup failed: ${(error as Error).message}`)
    await report('failed').catch(() => {})
    return undefined
  }
}

async function makeBackup(
  directory: string,
  to: string,
  begun: number,
  signal: AbortSignal,
): Promise<string> {
  const id = (await readIdentity(directory))?.database?.id.slice(0, 8) ?? 'new'
  const time = new Date(begun).toISOString().slice(0, 19).replaceAll(':', '-')
  const name = `backup-${id}-${time}Z.tgz`
  const unverified = join(to, `${UNVERIFIED}${name}`)
  await assertFolder(unverified)
  for (const left of await readdir(to))
    if (left.startsWith(`${UNVERIFIED}backup-${id}-`)) await rm(join(to, left), { force: true })
  await assertRooms(directory, to)
  try {
    await runApp(['backup', unverified, '--dir', directory], signal)
    await runApp(['backup', 'verify', unverified, '--dir', directory], signal)
    await rename(unverified, join(to, name))
    await syncPath(to)
    return join(to, name)
  } finally {
    await rm(unverified, { force: true })
  }
}

/** The copy, the archive and the scratch database must leave the host the space that it keeps free. */
async function assertRooms(directory: string, to: string): Promise<void> {
  const { databaseFile, storage } = await readConfig(directory)
  if (databaseFile === undefined) return
  const size = await sizeOfDatabase(databaseFile)
  const kept = reservedBytes(await volumeOf(databaseFile), storage.minFreeBytes)
  await assertRoom(join(directory, '.app'), 3 * size + kept)
  await assertRoom(to, size)
}

/** Deletes all but the newest backups of this application. @param file the newest */
async function deleteOlder(file: string, keep: number): Promise<void> {
  const [, folder = '', id = ''] = /^(.*)\/backup-(\w+)-[^/]*$/.exec(file) ?? []
  const own = new RegExp(`^backup-${id}-\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\dZ\\.tgz$`)
  const names = (await readdir(folder)).filter((name) => own.test(name)).sort()
  for (const name of names.slice(0, -keep)) await rm(join(folder, name), { force: true })
}

async function runApp(argv: readonly string[], signal: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, [join(calledFolder(), 'bin.js'), ...argv, '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...withoutEnvFile() },
    signal,
  })
  const ended = once(child, 'close')
  if (child.pid !== undefined) lower(child.pid)
  const [said, [code]] = await Promise.all([text(child.stdout), ended])
  if (code === 0) return
  const { error } = JSON.parse(said || '{}') as { error?: { message: string; hint: string } }
  throw new Error(error ? `${error.message} ${error.hint}` : `app ${argv[0]} ended with ${code}`)
}

function lower(pid: number): void {
  try {
    setPriority(pid, 10)
  } catch {
    // It has ended already.
  }
}
