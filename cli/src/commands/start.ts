import cluster from 'node:cluster'
import { join } from 'node:path'
import { isServing, readConfig } from '@mortise/application'
import { callRunningHost, hasUnfinishedRevert } from '@mortise/host'
import type { Application, ApplicationOptions } from '@mortise/host/serving'
import {
  reportFailure,
  reportServing,
  Supervisor,
  sendHeartbeat,
  takeParent,
  takeWorkerNumber,
  WorkerEndedError,
} from '@mortise/host/supervising'
import { beginInClone, completeClone, newSecretNote, renewIdentity } from '@mortise/installer/application'
import { isCurrent, namingDatabaseUser, whenDatabaseFree, withPatience } from '@mortise/installer/changes'
import { explain } from '@mortise/installer/explaining'
import {
  cannotListen,
  type Failure,
  failureOf,
  hostCrashed,
  hostStorageFailed,
  needsPostgres,
  portInUse,
  workersFailed,
} from '@mortise/installer/failures'
import { blocksStart, isRestorationLeft, restoreAtStart, scheduleBackups } from '@mortise/installer/starting'
import { assertIntact, stateText } from '@mortise/installer/store'
import { BrokenStorageError } from '@mortise/storage'
import { calledFolder } from '../pinned/pinned-host.ts'
import type { Command } from '../terminal/command.ts'
import { numberOption } from '../terminal/number-option.ts'
import { isOnTerminal, StopSignals } from '../terminal/stop-signals.ts'
import type { Terminal } from '../terminal/terminal.ts'

type StartOptions = ApplicationOptions & { readonly signal: AbortSignal }

/** How long a start waits for a command that changes the application, in seconds. */
const COMMAND_TIMEOUT = 60

/** A start continues this long after a signal ended it, in milliseconds. */
const START_TIMEOUT = 10_000

export const command: Command = {
  options: [
    ['--port <port>', 'the port to listen on; 0: any free port (default: server.port, 3000)'],
    ['--host <address>', 'the address to listen on (default: server.host, 127.0.0.1)'],
    ['--new-database', 'accept the configured database, even if it is new or a different one'],
    [
      '--new-secret',
      'accept the current secret, or create one; tokens of the previous secret become invalid',
    ],
    [
      '--workers <number>',
      'the number of hosts on the port, at most one per core; needs PostgreSQL (default: 1)',
    ],
    [
      '--no-supervisor',
      'serve in this process: something else starts it again when it ends (no effect with --workers)',
    ],
  ],
  examples: ['app start', 'app start --port 8080 --host 0.0.0.0', 'app start --workers 4'],
  changes: true,

  ownEnvironment: true,

  async run({ options, terminal, application }) {
    const parent = await takeParent()
    const directory = await application()
    const place = {
      directory,
      port: portOf(options.port),
      host: options.host as string | undefined,
    }
    const workers = numberOption('--workers', options.workers, [1, 999]) ?? 1
    if (cluster.isWorker) sendHeartbeat()
    await assertIntact(directory)
    if (cluster.isWorker) return await serveAsWorker({ ...place, worker: takeWorkerNumber() })
    await beginInClone(directory)
    if (options.newDatabase === true) await renewIdentity(directory, { database: null })
    if (options.newSecret === true) await renewIdentity(directory, { secret: null })
    const note = newSecretNote(directory, await completeClone(directory))
    if (note !== undefined) terminal.note(note)
    // Waits for the end of a host that stops. One that serves is reported later, by its lock.
    await callRunningHost(directory, 'state').catch(() => {})
    await withPatience(COMMAND_TIMEOUT, () => complete(directory, terminal))
    const signals = new StopSignals()
    const running = await unlessStopped<Application | Supervisor>(signals, (signal) =>
      workers === 1
        ? whenDatabaseFree(terminal, signal, () => startOn({ ...place, parent, signal }))
        : startWorkers(workers, { ...place, signal }),
    )
    if (running === undefined) {
      const { reason: signal } = signals.stop
      return terminal.result({ stopped: signal }, `Stopped by ${signal} before the start was complete.`)
    }
    const stopped = untilStopped(running, signals, terminal)
    const state = 'state' in running ? running.state() : await callRunningHost(directory, 'state')
    if (state === undefined) return await stopped
    const { pid, host: version, url, generation, modules, workers: processes = [] } = state
    const lines = modules.map(
      ({ id, version, state, reason = null, until = null }) =>
        `  ${id} ${version}${isServing({ state }) ? '' : ` (${stateText({ state, reason, until })})`}`,
    )
    if (parent?.hasServed !== true)
      terminal.result(
        { pid, host: version, url, generation, modules, workers: processes.map((worker) => worker.pid) },
        [
          `Serving ${url}${processes.length > 0 ? ` with ${processes.length} processes` : ''}`,
          `Host ${version}`,
          ...(lines.length > 0 ? ['Installed:', ...lines] : ['Nothing is installed yet.']),
          lines.length > 0
            ? `Try: curl ${url}/ or open ${url}/docs`
            : 'Next, in another terminal: app module-install api-cart',
        ].join('\n'),
      )
    const stopping = new AbortController()
    const restored = restoreAtStart(directory, state, terminal, stopping.signal).catch((error) =>
      terminal.note(`The store could not be read: ${(error as Error).message}`),
    )
    const backups = scheduleBackups(directory, (text) => terminal.note(text), stopping.signal)
    await stopped.finally(() => stopping.abort())
    await Promise.all([restored, backups])
  },
}

/** Completes what a killed command or host left, and applies an external lock file. */
async function complete(directory: string, terminal: Terminal): Promise<void> {
  const isLeft = isRestorationLeft(directory) || hasUnfinishedRevert(directory)
  if (isLeft || (await blocksStart(directory))) {
    const { changeApplication } = await import('@mortise/installer')
    await changeApplication(directory, 'start', terminal, async () => {})
  }
  if (await isCurrent(directory)) return
  const { deployAtStart } = await import('@mortise/installer')
  await deployAtStart(directory, terminal)
}

/** Resolves to undefined if a signal ends `start` first, within some seconds. */
export async function unlessStopped<Running>(
  signals: StopSignals,
  start: (signal: AbortSignal) => Promise<Running>,
): Promise<Running | undefined> {
  const { promise: overdue, reject } = Promise.withResolvers<never>()
  overdue.catch(() => {})
  const { stop } = signals
  stop.addEventListener('abort', () => setTimeout(() => reject(stop.reason), START_TIMEOUT).unref())
  try {
    return await Promise.race([start(stop), overdue])
  } catch (error) {
    if (stop.aborted && error === stop.reason) return undefined
    signals.release()
    throw error
  }
}

/** Resolves after a signal stopped the host cleanly. */
async function untilStopped(
  running: Application | Supervisor,
  signals: StopSignals,
  terminal?: Terminal,
): Promise<void> {
  const stop = () => {
    if (terminal !== undefined && isOnTerminal())
      terminal.note('Stopping: the host finishes the open requests. Press Ctrl-C again to end at once.')
    running.stop(signals.stop.reason as NodeJS.Signals).catch(() => {}) // `closed` reports it
  }
  if (signals.stop.aborted) stop()
  else signals.stop.addEventListener('abort', stop)
  signals.cut.addEventListener('abort', () => running.cut().catch(() => {}))
  try {
    await running.closed
  } catch (error) {
    if (error instanceof WorkerEndedError) throw stoppedWorking(error)
    if (error instanceof BrokenStorageError) throw storageFailed(error)
    throw hostCrashed({ reason: error instanceof Error ? error.message : String(error), cause: error })
  }
}

export function storageFailed(error: unknown): unknown {
  if (!(error instanceof BrokenStorageError)) return error
  return hostStorageFailed({ reason: error.message, cause: error })
}

/** The work of a worker from `startWorkers`. Its supervisor reports failures. */
async function serveAsWorker(place: Omit<StartOptions, 'signal'>): Promise<void> {
  try {
    const signals = new StopSignals()
    const running = await unlessStopped(signals, (signal) => startOn({ ...place, signal }))
    if (running === undefined) return
    const stopped = untilStopped(running, signals)
    await reportServing(running)
    await stopped
  } catch (error) {
    const { code, exitCode, message, hint } = await explain(error)
    await reportFailure({ code, exitCode, message, hint })
  }
}

/** @throws {Failure} on SQLite; the first worker's failure if that worker cannot serve */
async function startWorkers(
  count: number,
  { directory, port, host, signal }: StartOptions,
): Promise<Supervisor> {
  if ((await readConfig(directory)).databaseFile !== undefined) throw needsPostgres()
  const options = [...(port === undefined ? [] : ['--port', `${port}`]), ...(host ? ['--host', host] : [])]
  try {
    return await Supervisor.start({
      directory,
      count,
      // The package that was called: it finds the host that is pinned at that time.
      program: join(calledFolder(), 'bin.js'),
      port,
      host,
      arguments: ['start', '--dir', directory, ...options],
      signal,
    })
  } catch (error) {
    if (signal.aborted) throw error
    if (error instanceof WorkerEndedError)
      throw error.failure ? failureOf(error.failure) : stoppedWorking(error)
    throw await namingDatabaseUser(directory, error)
  }
}

function stoppedWorking(error: WorkerEndedError): Failure {
  const advice = error.failure?.hint
  const because = { reason: error.message, cause: error }
  return advice === undefined
    ? workersFailed({ hint: 'log', ...because })
    : workersFailed({ hint: 'advice', ...because, advice })
}

export const portOf = (text: string | boolean | undefined) => numberOption('--port', text, [0, 65_535])

const unusable: Readonly<Record<string, string>> = {
  EACCES: 'this user has no permission; ports below 1024 need it',
  EADDRNOTAVAIL: 'this machine does not have it',
  ENOTFOUND: 'the host name is unknown',
}

export async function startOn(options: StartOptions): Promise<Application> {
  // A supervisor does without it.
  const { Application } = await import('@mortise/host/serving')
  try {
    return await Application.start({ ownsProcess: true, command: join(calledFolder(), 'bin.js'), ...options })
  } catch (error) {
    if (error === options.signal.reason) throw error
    const { code, syscall, ...at } = error as NodeJS.ErrnoException & { address?: string; port?: number }
    if (code === 'EADDRINUSE') {
      throw portInUse({ port: at.port as number, address: at.address as string, cause: error })
    }
    const reason = Object.hasOwn(unusable, `${code}`) ? unusable[`${code}`] : undefined
    if (reason !== undefined && ['listen', 'bind', 'getaddrinfo'].includes(`${syscall}`)) {
      throw cannotListen({ reason, cause: error })
    }
    throw await namingDatabaseUser(options.directory, storageFailed(error))
  }
}
