import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Application } from '@mortise/host/serving'
import Database from 'better-sqlite3'

/** An application from the outside. */
export interface Observation {
  /** Its modules and the responses of their routes, as JSON. */
  readonly served: string
  /** The rows of the sample module, as JSON; `none` if the table is missing. */
  readonly rows: string
}

/** Starts an application, observes it, and stops it. */
export async function observe(directory: string): Promise<Observation> {
  const running = await startQuietly(directory)
  let served: string
  try {
    served = await observeServed(running)
  } finally {
    await running.close()
  }
  return { served, rows: readRows(directory) }
}

export const startQuietly = (directory: string) =>
  Application.start({ directory, port: 0, environment: { APP_LOG_LEVEL: 'silent' } })

export async function observeServed(running: Application): Promise<string> {
  const responses = await Promise.all(
    ['/hello', '/note'].map(async (path) => {
      const response = await fetch(`${running.url}${path}`)
      return response.ok ? await response.json() : response.status
    }),
  )
  return JSON.stringify([running.state().modules, responses])
}

export function readRows(directory: string): string {
  const file = join(directory, 'data', 'app.db')
  if (!existsSync(file)) return 'none'
  const database = new Database(file)
  try {
    const table = database.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'note'`).get()
    return table ? JSON.stringify(database.prepare('SELECT id, body FROM note ORDER BY id').all()) : 'none'
  } finally {
    database.close()
  }
}

/** All paths in a folder, relative to it. */
async function pathsIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  return entries.map((entry) => relative(directory, join(entry.parentPath, entry.name))).sort()
}

/** The files of an application, without those whose number grows with each change. */
export async function steadyPaths(directory: string): Promise<string[]> {
  return (await pathsIn(directory)).filter(
    (path) => !/^\.app\/(generations|purged|undone)\/[^/]+\.(json|tgz)$/.test(path),
  )
}

/**
 * A hash of all files of an application, without SQLite's shared memory, which is rebuilt after a
 * crash.
 */
export async function digestOf(directory: string): Promise<string> {
  const hash = createHash('sha256')
  for (const path of await pathsIn(directory)) {
    if (path.endsWith('-shm')) continue
    const file = join(directory, path)
    const stats = await stat(file)
    hash.update(`${path}\0${stats.mode}\0`)
    if (stats.isFile()) hash.update(await readFile(file))
  }
  return hash.digest('hex')
}
