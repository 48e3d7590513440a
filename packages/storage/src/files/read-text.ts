import { readFile } from 'node:fs/promises'

/** In UTF-8. @throws {NodeJS.ErrnoException} with its `path`, also for a folder */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path: file })
  }
}

/** The same; undefined without a file. */
export async function readOptionalText(file: string): Promise<string | undefined> {
  try {
    return await readText(file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
