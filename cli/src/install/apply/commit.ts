import { realpath } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { configFile, readLockFile, readText, replaceFile, writeLockFile } from '@mortise/host'
import { type Journal, removeJournal } from '../../changes/journal.ts'

/** The commit point. On failure the previous generation stays in force for good. */
export async function commit(directory: string, journal: Journal): Promise<void> {
  const { config, former, next } = journal
  try {
    if (config) await replaceConfig(directory, config.former, config.next)
    if (!isDeepStrictEqual(former, next)) await writeLockFile(directory, next)
  } catch (error) {
    // If this fails, the next command completes or reverts it.
    await dropUncommitted(directory, journal).catch(() => {})
    throw error
  }
}

async function dropUncommitted(directory: string, { config, former }: Journal): Promise<void> {
  if (!isDeepStrictEqual(await readLockFile(directory), former)) return
  if (config && (await readText(await realpath(configFile(directory)))) !== config.former) {
    await replaceConfig(directory, config.next, config.former)
  }
  await removeJournal(directory)
}

/** Replaces app.config.json, or the target of its link, if its text is still `expected`. */
export async function replaceConfig(directory: string, expected: string, text: string): Promise<void> {
  await replaceFile(await realpath(configFile(directory)), expected, text)
}
