import { readText } from '../read-text.ts'
import { writeDurably } from './write-durably.ts'

/** Replaces the text of a file, on the disk when it resolves. @returns false where it is not `former` any more */
export async function replaceFile(file: string, former: string, next: string): Promise<boolean> {
  const text = await readText(file)
  if (text === next) return true
  if (text !== former) return false
  await writeDurably(file, next)
  return true
}
