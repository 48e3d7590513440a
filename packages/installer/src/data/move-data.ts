import { existsSync } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { relative } from 'node:path'
import {
  configFile,
  keptTables,
  readConfig,
  readGenerations,
  removeDatabaseIdentity,
} from '@mortise/application'
import { readConfigText } from '@mortise/application/folder'
import { callRunningHost, HostEndedError, HostRefusedError } from '@mortise/host'
import { DatabaseError } from '@mortise/module-sdk'
import {
  MigrationError,
  parsePostgresUrl,
  postgresData,
  type RestoredTable,
  readFileContents,
  replaceFile,
  StorageUnfitError,
  StorageUnreachableError,
  UnknownMigrationError,
} from '@mortise/storage'
import semver from 'semver'
import { setInJson } from '../application/edit-json.ts'
import {
  databaseOverridden,
  type Failure,
  moveInterrupted,
  moveTargetUnreachable,
  nothingToMove,
  notMovable,
  notOnSqlite,
  wrongMoveTarget,
} from '../failures/index.ts'
import { confirm } from '../reporting/confirm.ts'
import type { Reporter } from '../reporting/reporter.ts'
import { exactSpec, lockedModule } from '../store/installed-packages.ts'
import { storedMigrations } from '../store/stored-migrations.ts'
import { type MovePause, pauseForMove } from './pause-for-move.ts'
import { TimeLeft } from './time-left.ts'

export interface MoveRequest {
  readonly directory: string
  readonly to: string | undefined
  readonly terminal: Reporter
  readonly yes: boolean
}

export interface Moved {
  /** False if the data were already there. */
  readonly moved: boolean
  /** For people, without the password. */
  readonly to: string
  /** The SQLite file, which stays. Relative to the application folder. */
  readonly previous: string
  readonly tables: readonly RestoredTable[]
  /** How long writes were refused, in milliseconds. */
  readonly heldFor: number
  /** The id of the process to restart, or null. */
  readonly running: number | null
}

/**
 * Moves the data of an application from SQLite to PostgreSQL: a backup and a restore.
 *
 * A running host serves reads and refuses writes (503), while the rows of one moment fill an empty
 * schema in one transaction. Then the host itself makes app.config.json name that database, which
 * decides the move. Only the host uses the file, so no acknowledged write stays behind. It refuses
 * writes until a restart. After a kill at any point the application is on SQLite as before, or
 * moved; running the command again starts over. Call this with the command lock.
 *
 * @throws {Failure} before any change
 */
export async function moveData({ directory, to, terminal, yes }: MoveRequest): Promise<Moved> {
  const config = await readConfig(directory)
  const { url, name } = targetOf(to)
  const { databaseFile: file, database } = config
  const nothing = { to: name, previous: '', tables: [], heldFor: 0, running: null }
  if (database === url) return { ...nothing, moved: false }
  if (file === undefined) throw notOnSqlite()
  if (process.env.APP_DATABASE !== undefined) throw databaseOverridden()
  if (!existsSync(file)) throw nothingToMove({ url: withoutPassword(url) })
  terminal.note(
    'A running host serves reads and refuses writes (503), until the rows are copied and you restart it.',
  )
  await confirm(terminal, yes, 'Move the data?')
  const previous = (await readConfigText(directory)).text
  const next = setInJson(previous, ['database'], url)
  const { fillSchema } = await postgresData()
  const sets = await storedMigrations(directory)
  const left = new TimeLeft(Object.values(readFileContents(file).rows).reduce((sum, rows) => sum + rows, 0))
  let pause: MovePause | undefined
  let begun = 0
  const copy = () =>
    fillSchema({
      ...{ file, url, sets, owner: config.auth.issuer ?? directory, kept: keptTables },
      async begin() {
        begun = performance.now()
        pause = await pauseForMove(directory, file, () => left.seconds)
      },
      onRows(count) {
        pause?.assertPaused()
        left.add(count)
      },
    })
  try {
    const tables = await asFailures(directory, () =>
      terminal.during('Copying, while writes are refused', copy),
    )
    await removeDatabaseIdentity(directory)
    await (pause?.byHost ? switchByHost : switchAlone)(directory, previous, next)
    const heldFor = Math.round(performance.now() - begun)
    const host = await callRunningHost(directory, 'state').catch(() => undefined)
    const running = host?.pid ?? null
    return { moved: true, to: name, previous: relative(directory, file), tables, heldFor, running }
  } finally {
    pause?.release()
  }
}

async function switchByHost(directory: string, previous: string, next: string): Promise<void> {
  let reason = 'it has ended'
  try {
    if ((await callRunningHost(directory, 'switch', { previous, next })) !== undefined) return
  } catch (error) {
    if (error instanceof HostRefusedError) reason = error.reason
    else if (!(error instanceof HostEndedError)) throw error
  }
  // The host may have stopped after it wrote the file.
  if ((await readFile(configFile(directory), 'utf8')) === next) return
  throw moveInterrupted({ reason: `the running host did not switch: ${reason}` })
}

async function switchAlone(directory: string, previous: string, next: string): Promise<void> {
  if (await replaceFile(await realpath(configFile(directory)), previous, next)) return
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
    if (error instanceof StorageUnreachableError && !(error instanceof StorageUnfitError)) {
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
