import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { noFolder } from '../failures/index.ts'

/** @throws {Failure} if the folder of `file` is missing (3) */
export async function assertFolder(file: string): Promise<void> {
  const folder = await stat(dirname(file)).catch(() => undefined)
  if (folder?.isDirectory() !== true) throw noFolder({ file, folder: dirname(file) })
}
