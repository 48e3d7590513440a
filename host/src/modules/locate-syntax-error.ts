import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** A module that loads more than that before it fails must do without. */
const MAX_FILES = 20

/**
 * Puts file and line into the stack of a SyntaxError: of an ES module Node tells them only where nobody catches
 * the error. `node --check` parses the files, and runs nothing.
 * @param urls what was loaded, the file in question among the last
 */
export async function locateSyntaxError(error: SyntaxError, urls: readonly string[]): Promise<void> {
  for (const url of urls.slice(-MAX_FILES).reverse()) {
    const file = fileURLToPath(url)
    try {
      await promisify(execFile)(process.execPath, ['--check', file], { timeout: 5_000 })
    } catch (failure) {
      const { stderr } = failure as { stderr?: string }
      if (!stderr?.includes(error.message)) continue
      error.stack = stderr
      return
    }
  }
}
