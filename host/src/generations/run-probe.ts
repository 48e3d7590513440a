import { fork } from 'node:child_process'
import { extname, join } from 'node:path'
import type { Config } from '@mortise/application'
import { inTemporaryFolder } from '@mortise/application'
import type { Access } from '@mortise/module-sdk'
import type { DatabaseSchema } from '@mortise/storage'
import { locationOf } from '../modules/error-location.ts'
import { type ActiveModule, ModuleError } from '../modules/host-module.ts'
import { adviceOn, locateSyntaxError } from '../modules/locate-syntax-error.ts'
import type { ObservedModule } from '../modules/observe-module.ts'
import type { OpenapiDocument } from '../routes/openapi-document.ts'
import { hasNativeCode, limitsOf, type ProbeLimits } from './probe-limits.ts'

/** A module as it would be activated: from the store or the staging folder. */
export interface ProbedModule {
  readonly id: string
  readonly directory: string
}

export interface ProbeOptions {
  /** The initial schema of its database; empty if undefined. */
  readonly schema?: DatabaseSchema
  /** The ids of modules whose GET routes are called. */
  readonly ask?: readonly string[]
  /** Other versions, whose migrations are applied after the calls. None of their code runs. */
  readonly upgrades?: readonly ProbedModule[]
  /** In milliseconds. */
  readonly timeout?: number
  /**
   * False for modules in development, which their author runs: dependencies may lie further up, and
   * there is network.
   */
  readonly confined?: boolean
  /** What else to try in the child process once the modules respond. */
  readonly inspection?: Inspection
}

/** Further work of the child process, on the loaded modules. */
export interface Inspection {
  /** URL of a module that exports `inspect`, an `Inspect`. */
  readonly file: string
  /** URL of a module that is loaded before all others. */
  readonly before: string
  readonly input: unknown
  /** Called for each `note` of it. */
  onNote(note: unknown): void
}

/** Runs after the probe's own host has closed. */
export type Inspect = (probed: {
  readonly config: Config
  /** In contract order. */
  readonly modules: readonly ActiveModule[]
  /** A folder to write to. */
  readonly scratch: string
  readonly input: unknown
  /** Says what the module does now, for the message if the process hangs or ends: `responding`. */
  begin(module: string, doing: string): void
  note(note: unknown): void
}) => Promise<void>

/** What the modules would serve. */
export interface ProbeReport {
  /** The OpenAPI document. */
  readonly document: OpenapiDocument
  /** The access of each route (`GET /cart`), by module id. */
  readonly access: Readonly<Record<string, Readonly<Record<string, Access>>>>
}

/** All modules of the next generation: they must work together. */
export interface ProbeRequest extends Required<Pick<ProbeOptions, 'ask' | 'upgrades' | 'confined'>> {
  readonly config: Config
  readonly modules: readonly ProbedModule[]
  readonly schema: DatabaseSchema | undefined
  /** Whether a module has native code. */
  readonly native: boolean
  /** An empty folder for its database; removed afterwards. */
  readonly scratch: string
  readonly inspection: Pick<Inspection, 'file' | 'input'> | undefined
}

/** Input of the child process to observe one module without serving. */
export interface ObserveRequest extends Pick<ProbeRequest, 'modules' | 'scratch'> {
  /** See `observeModule`. */
  readonly requires: readonly string[]
}

/** Messages of the child process: the current module, what all modules serve, and the result. */
export type ProbeMessage =
  | { readonly kind: 'began'; readonly module: string; readonly doing: string }
  | { readonly kind: 'noted'; readonly note: unknown }
  | { readonly kind: 'report'; readonly report: ProbeReport }
  | { readonly kind: 'observed'; readonly observed: ObservedModule }
  | { readonly kind: 'done' }
  | ProbeFailure

export interface ProbeFailure {
  readonly kind: 'failed'
  readonly module: string
  readonly reason: string
  readonly stack: string | undefined
  /** A SyntaxError without a location, and the files that may contain it. */
  readonly unparsed: { readonly message: string; readonly urls: readonly string[] } | undefined
}

/** Time limit for loading and registering all modules, in milliseconds. */
const PROBE_TIMEOUT = 20_000

/**
 * Loads and registers `modules` in a child process, on a database of its own with their migrations,
 * and calls the GET routes of those in `ask`. Resolves if they would serve; this process and the
 * application stay untouched.
 *
 * The child gets none of the environment and no network, starts no process, reads only its own code
 * and the modules, writes only to its scratch folder, and is killed if it takes too much memory, disk
 * or time; its threads, too. Native code of a module has no such limits, and a module in development
 * has fewer.
 *
 * @returns `unfit` for a module in `ask` that works, and fails once `upgrades` have migrated;
 * modules that already fail before are ignored then
 * @throws {ModuleError} that names the module that throws, hangs, ends the process, violates its
 * manifest, or (without `upgrades`) responds with a failure
 */
export async function probe(
  config: Config,
  modules: readonly ProbedModule[],
  {
    schema,
    ask = [],
    upgrades = [],
    timeout = PROBE_TIMEOUT,
    confined = true,
    inspection,
  }: ProbeOptions = {},
): Promise<ProbeReport & { readonly unfit?: ModuleError }> {
  return await inTemporaryFolder(config.directory, async (scratch) => {
    const reports: ProbeReport[] = []
    try {
      const { file, input, before } = inspection ?? {}
      const directories = [...modules, ...upgrades].map(({ directory }) => directory)
      const native = directories.some(hasNativeCode)
      const request = {
        ...{ config: withoutSecrets(config), modules, schema, ask, upgrades, scratch, confined, native },
        inspection: file === undefined ? undefined : { file, input },
      }
      const onResult = (message: ProbeResult) => {
        if (message.kind === 'report') reports.push(message.report)
        if (message.kind === 'noted') inspection?.onNote(message.note)
      }
      await runChild(
        request,
        limitsOf(scratch, confined ? directories : undefined),
        timeout,
        onResult,
        before,
      )
      return reports[0] as ProbeReport
    } catch (error) {
      const [report] = reports
      if (error instanceof ModuleError && report && upgrades.length > 0) return { ...report, unfit: error }
      throw error
    }
  })
}

/** @throws {ModuleError} if the module throws, hangs, ends the process, or is no module */
export async function observe(
  module: ProbedModule,
  requires: readonly string[] = [],
): Promise<ObservedModule> {
  return await inTemporaryFolder(undefined, async (scratch) => {
    const found: ObservedModule[] = []
    await runChild(
      { modules: [module], requires, scratch },
      limitsOf(scratch, undefined),
      PROBE_TIMEOUT,
      (message) => {
        if (message.kind === 'observed') found.push(message.observed)
      },
    )
    return found[0] as ObservedModule
  })
}

/** The configuration without the token key and the database password, for unknown modules. */
function withoutSecrets(config: Config): Config {
  const settings = Object.entries(config.environment).filter(([name]) => name.startsWith('APP_MODULES_'))
  return {
    ...config,
    secret: undefined,
    previousSecrets: [],
    database: '',
    databaseFile: undefined,
    environment: Object.fromEntries(settings),
  }
}

type ProbeResult = Extract<ProbeMessage, { kind: 'report' | 'observed' | 'noted' }>

function runChild(
  request: ProbeRequest | ObserveRequest,
  limits: ProbeLimits,
  timeout: number,
  onResult: (message: ProbeResult) => void,
  before?: string,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const child = fork(join(import.meta.dirname, `probe-child${extname(import.meta.filename)}`), {
    cwd: request.scratch,
    // A process group of its own, so that processes of native code are killed with it.
    detached: true,
    env: { ...inherited('TZ', 'SystemRoot'), TMPDIR: request.scratch },
    execPath: limits.execPath,
    execArgv: [...limits.execArgv, ...(before ? ['--import', before] : [])],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let inHand = request.modules[0]?.id ?? ''
  let doing = 'loading'
  let errors = ''
  const timer = setTimeout(() => fail(`it did not finish ${doing} within ${timeout / 1000} s`), timeout)
  const directory = () => request.modules.find(({ id }) => id === inHand)?.directory
  const fail = (reason: string, stack?: string) =>
    reject(new ModuleError(inHand, denialIn(stack, directory()) ?? reason, causeOf(stack)))
  const failed = async ({ reason, stack, unparsed }: ProbeFailure) => {
    // That was its last message: how and when it ends does not matter.
    clearTimeout(timer)
    child.removeAllListeners('close')
    const located = unparsed && (await locateSyntaxError(unparsed.message, unparsed.urls))
    fail(`${reason}${adviceOn(located)}${placeIn(directory(), located)}`, located ?? stack)
  }

  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-8000)
  })
  child.on('message', (message: ProbeMessage) => {
    if (message.kind === 'done') return resolve()
    if (message.kind === 'report' || message.kind === 'observed' || message.kind === 'noted')
      return onResult(message)
    inHand = message.module
    if (message.kind === 'began') doing = message.doing
    if (message.kind === 'failed') failed(message).catch(reject)
  })
  child.once('error', (error) => fail(`the probe could not be started: ${error.message}`))
  child.once('close', (code, signal) => {
    const limit = /^LimitError: (.*)$/m.exec(errors)?.[1]
    if (limit !== undefined) return fail(limit)
    const how = signal ? `was killed by ${signal}` : `ended with exit code ${code}`
    fail(`the process ${how} while it was ${doing}${lastError(errors, directory())}`, errors)
  })
  child.send(request)

  return promise.finally(() => {
    clearTimeout(timer)
    child.removeAllListeners('close')
    if (child.pid !== undefined) killGroup(child.pid)
  })
}

/** The line in the report of an uncaught error that names it, with its location in the module. */
function lastError(output: string, directory: string | undefined): string {
  const line = output.split('\n').find((text) => /^\w*Error\b|^FATAL ERROR/.test(text))
  return `${line ? `: ${line}` : ''}${placeIn(directory, output)}`
}

/** What Node has denied, if an error's report is about that. */
function denialIn(report: string | undefined, directory: string | undefined): string | undefined {
  const [, permission = '', resource = ''] =
    /'ERR_ACCESS_DENIED',\s+permission: '(\w+)',\s+resource: '(.*)'/.exec(report ?? '') ?? []
  const denied = {
    ChildProcess: 'starts a process',
    WorkerThreads: 'starts a thread',
    Addons: 'loads native code',
    FileSystemRead: `reads ${resource}`,
    FileSystemWrite: `writes to ${resource}`,
    Net: `connects to ${resource || 'the network'}`,
    Signal: `sends a signal to process ${resource}`,
  }[permission]
  return denied && `it ${denied} while it loads, which a module may not do${placeIn(directory, report)}`
}

function placeIn(directory: string | undefined, report: string | undefined): string {
  const where = directory === undefined ? undefined : locationOf(report, directory)
  return where === undefined ? '' : ` (${where})`
}

/** Carries the child's stack for debugging. */
function causeOf(stack: string | undefined): ErrorOptions {
  if (!stack) return {}
  const cause = new Error('in the probe')
  cause.stack = stack
  return { cause }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

const inherited = (...names: string[]) =>
  Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  )
