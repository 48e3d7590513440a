import { readFile } from 'node:fs/promises'
import { writeDurably } from './write-durably.ts'

/** Replaces the text of a file, on the disk when it resolves. @returns false where it is not `former` any more */
export async function replaceFile(file: string, former: string, next: string): Promise<boolean> {
  const text = await readFile(file, 'utf8')
  if (text === next) return true
  if (text !== former) return false
  await writeDurably(file, next)
  return true
}
