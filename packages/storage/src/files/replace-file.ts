import { readText } from './read-text.ts'
import { writeDurably } from './write-durably.ts'

/**
 * Replaces the text of a file, on the disk when it resolves: one that has it already is written as well, since a former
 * attempt may have failed to sync it. @returns false where it is neither `former` nor `next`
 */
export async function replaceFile(file: string, former: string, next: string): Promise<boolean> {
  const text = await readText(file)
  if (text !== former && text !== next) return false
  await writeDurably(file, next)
  return true
}
