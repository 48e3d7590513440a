import { realpath } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { configFile, readLockFile, writeLockFile } from '@mortise/application'
import { readText, replaceFile } from '@mortise/storage'
import { type Journal, removeJournal } from '../../changes/journal.ts'

/** The commit point. On failure the previous generation stays current for good. */
export async function commit(directory: string, journal: Journal): Promise<void> {
  const { config, previous, next } = journal
  try {
    if (config) await replaceConfig(directory, config.previous, config.next)
    if (!isDeepStrictEqual(previous, next)) await writeLockFile(directory, next)
  } catch (error) {
    // If this fails, the next command completes or reverts it.
    await dropUncommitted(directory, journal).catch(() => {})
    throw error
  }
}

async function dropUncommitted(directory: string, { config, previous }: Journal): Promise<void> {
  if (!isDeepStrictEqual(await readLockFile(directory), previous)) return
  if (config && (await readText(await realpath(configFile(directory)))) !== config.previous) {
    await replaceConfig(directory, config.next, config.previous)
  }
  await removeJournal(directory)
}

/** Replaces app.config.json, or the target of its link, if its text is still `expected`. */
export async function replaceConfig(directory: string, expected: string, text: string): Promise<void> {
  await replaceFile(await realpath(configFile(directory)), expected, text)
}
