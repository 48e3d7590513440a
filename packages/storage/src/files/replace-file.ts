import { readText } from './read-text.ts'
import { writeDurably } from './write-durably.ts'

/**
 * Replaces the text of a file durably. Writes even an unchanged text, since an earlier attempt may
 * have failed to sync it.
 * @returns false if the text is neither `previous` nor `next`
 */
export async function replaceFile(file: string, previous: string, next: string): Promise<boolean> {
  const text = await readText(file)
  if (text !== previous && text !== next) return false
  await writeDurably(file, next)
  return true
}
