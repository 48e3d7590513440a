import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** For a module that loads more files before it fails, the location stays unknown. */
const MAX_FILES = 20

/** What to write, where Node only says that `await` is a reserved word. */
export function adviceOn(report: string | undefined): string {
  const isAwait = /\bawait\b/.test(report ?? '') && /reserved word|only valid in async/.test(report ?? '')
  return isAwait ? ': a transaction waits with yield* instead of await' : ''
}

/**
 * Finds file and line of a SyntaxError: for an ES module Node reports them only if the error is
 * uncaught. `node --check` parses the files and runs nothing. If no process may be started, nothing
 * is found.
 * @param message of the error
 * @param urls the loaded files, the wrong one among the last
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
