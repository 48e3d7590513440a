import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A module that loads more than that before it fails must do without. */
const MAX_FILES = 20

/**
 * Finds file and line of a SyntaxError: of an ES module Node tells them only where nobody catches the error.
 * `node --check` parses the files, and runs nothing. Where no process may be started, nothing is found.
 * @param message of the error
 * @param urls what was loaded, the file in question among the last
 * @returns Node's report of the error
 */
export async function locateSyntaxError(
  message: string,
  urls: readonly string[],
): Promise<string | undefined> {
  for (const url of urls.slice(-MAX_FILES).reverse()) {
    const file = fileURLToPath(url)
    try {
      await promisify(execFile)(process.execPath, ['--check', file], { timeout: 5_000 })
    } catch (failure) {
      const { stderr } = failure as { stderr?: string }
      if (stderr?.includes(message)) return stderr
    }
  }
  return undefined
}
