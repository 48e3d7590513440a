import { existsSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { relative } from 'node:path'
import {
  acquireFileLock,
  callRunningHost,
  configFile,
  databaseLockFile,
  HostEndedError,
  HostRefusedError,
  keptTables,
  MigrationError,
  parsePostgresUrl,
  pauseWrites,
  postgresData,
  readConfig,
  readGenerations,
  removeDatabaseIdentity,
  replaceFile,
  StorageUnreachableError,
  UnknownMigrationError,
} from '@mortise/host'
import { DatabaseError } from '@mortise/module-sdk'
import semver from 'semver'
import { readConfigText } from '../application/config-text.ts'
import { setInJson } from '../application/edit-json.ts'
import {
  databaseOverridden,
  type Failure,
  moveBusy,
  moveInterrupted,
  moveTargetUnreachable,
  nothingToMove,
  notMovable,
  notOnSqlite,
  wrongMoveTarget,
} from '../failures/index.ts'
import { exactSpec, lockedModule } from '../store/installed-packages.ts'
import { storedMigrations } from '../store/stored-migrations.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Terminal } from '../terminal/terminal.ts'

export interface MoveRequest {
  readonly directory: string
  readonly to: string | undefined
  readonly terminal: Terminal
  readonly yes: boolean
}

export interface Moved {
  /** False if the data were already there. */
  readonly moved: boolean
  /** For people, without the password. */
  readonly to: string
  /** The SQLite file, which stays. Relative to the application folder. */
  readonly former: string
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly checksum: string }[]
  /** How long writes were refused, in milliseconds. */
  readonly heldFor: number
  /** The id of the process to restart, or null. */
  readonly running: number | null
}

/**
 * Moves the data of an application from SQLite to PostgreSQL.
 *
 * A host keeps serving: rows are copied while it reads and writes. Then it refuses writes (503)
 * while every row is compared on both sides, the latest writes are copied, and the host itself
 * makes app.config.json name the new database. Only the host uses the database then, so no
 * acknowledged write stays behind. The host refuses writes until a restart. After a kill at any
 * point, the application is on SQLite as before, or moved; running the command again continues.
 * Call this with the command lock.
 *
 * @throws {Failure} before any change
 */
export async function moveData({ directory, to, terminal, yes }: MoveRequest): Promise<Moved> {
  const config = await readConfig(directory)
  const { url, name } = targetOf(to)
  const { databaseFile: file, database } = config
  const nothing = { to: name, former: '', tables: [], heldFor: 0, running: null }
  if (database === url) return { ...nothing, moved: false }
  if (file === undefined) throw notOnSqlite()
  if (process.env.APP_DATABASE !== undefined) throw databaseOverridden()
  if (!existsSync(file)) throw nothingToMove({ url: withoutPassword(url) })
  terminal.note(
    'The application serves reads all the time. At the end the command compares all rows, and the application refuses writes (503). Restart the host after that.',
  )
  await confirm(terminal, yes, 'Move the data?')
  const former = (await readConfigText(directory)).text
  const next = setInJson(former, ['database'], url)
  const sets = await storedMigrations(directory)
  const { withMove } = await postgresData()
  const source = config.auth.issuer ?? directory
  return await asFailures(directory, () =>
    withMove({ file, url, sets, source, kept: keptTables }, async (move) => {
      await terminal.during('Copying', () => move.pass())
      const begun = performance.now()
      const tables = await terminal.during('Comparing, while writes are refused', () =>
        whileHeld(directory, file, async (switchConfig) => {
          const reconciled = await move.verify()
          await move.finish()
          await removeDatabaseIdentity(directory)
          await switchConfig(directory, former, next)
          return reconciled
        }),
      )
      const heldFor = Math.round(performance.now() - begun)
      // If this fails, the host does it when it opens the database.
      await move.settle().catch(() => {})
      const host = await callRunningHost(directory, 'state').catch(() => undefined)
      return {
        moved: true,
        to: name,
        former: relative(directory, file),
        tables: tables.map(({ table, rows, checksum }) => ({ table, rows, checksum: checksum.source })),
        heldFor,
        running: host?.pid ?? null,
      }
    }),
  )
}

/**
 * Runs `work` while no process writes: the running host refuses writes, or no process has the
 * database open.
 */
async function whileHeld<Result>(
  directory: string,
  file: string,
  work: (switchConfig: typeof switchAlone) => Promise<Result>,
): Promise<Result> {
  const held = await pauseWrites(directory, file)
  if (held !== undefined) {
    try {
      return await work(switchByHost)
    } finally {
      held.release()
    }
  }
  const lock = acquireFileLock(databaseLockFile(file))
  // A host started a moment ago.
  if (lock === undefined) throw moveBusy()
  try {
    return await work(switchAlone)
  } finally {
    lock.release()
  }
}

async function switchByHost(directory: string, former: string, next: string): Promise<void> {
  let reason = 'it has ended'
  try {
    if ((await callRunningHost(directory, 'switch', { former, next })) !== undefined) return
  } catch (error) {
    if (error instanceof HostRefusedError) reason = error.reason
    else if (!(error instanceof HostEndedError)) throw error
  }
  // The host may have stopped after it wrote the file.
  if ((await readFile(configFile(directory), 'utf8')) === next) return
  throw moveInterrupted({ reason: `the running host did not switch: ${reason}` })
}

async function switchAlone(directory: string, former: string, next: string): Promise<void> {
  if (await replaceFile(await realpath(configFile(directory)), former, next)) return
  throw moveInterrupted({ reason: 'app.config.json changed in the meantime' })
}

function targetOf(to: string | undefined): { url: string; name: string } {
  try {
    if (to === undefined || !/^postgres(ql)?:/i.test(to)) {
      throw new TypeError('is required and has to begin with postgres://')
    }
    return { url: to, name: parsePostgresUrl(to).name }
  } catch (error) {
    throw wrongMoveTarget({ problem: (error as Error).message })
  }
}

async function asFailures<Result>(directory: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UnknownMigrationError) throw await notInStore(directory, error)
    if (error instanceof MigrationError || (error instanceof DatabaseError && error.kind === 'foreign-key')) {
      throw notMovable({ hint: 'other', reason: error.message, cause: error })
    }
    if (error instanceof StorageUnreachableError) {
      throw moveTargetUnreachable({ reason: error.message, cause: error })
    }
    if (error instanceof DatabaseError) throw moveInterrupted({ reason: error.message, cause: error })
    throw error
  }
}

/** Names the newest version that was installed here: its package has all applied migrations. */
async function notInStore(directory: string, error: UnknownMigrationError): Promise<Failure> {
  const { known } = await readGenerations(directory)
  const past = known.flatMap(({ lock }) => lockedModule(lock, error.module) ?? [])
  const newest = past.toSorted((one, other) => semver.compare(one.version, other.version)).at(-1)
  const about = { reason: error.message, cause: error }
  if (newest === undefined) return notMovable({ hint: 'other', ...about })
  return notMovable({ hint: 'install', ...about, spec: exactSpec(newest, directory) })
}

const withoutPassword = (url: string) => url.replace(/^([^/]*\/\/[^:@/?]*):[^@/]*@/, '$1@')
