import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { extname, join } from 'node:path'
import type { TSchema } from '@sinclair/typebox'
import { codeFolders } from './code-folders.ts'
import type { SettingsSources } from './module-settings.ts'
import { ConfigError } from './settings.ts'

// What the schema of a module's settings says is evaluated in a child process: a pattern may take
// years, references that double may need all memory, and only the end of a process stops that.

/** What the child is asked. */
export type Question =
  | { readonly kind: 'schema'; readonly schema: object }
  | {
      readonly kind: 'settings'
      readonly sources: SettingsSources
      readonly id: string
      readonly schema: TSchema
    }

/** The faults that it has found, one clause each. */
export type Faults = readonly string[]

/** For one question, in milliseconds. An honest schema takes a hundredth of it. */
const TIMEOUT = 3000
/** In MiB. */
const MEMORY = 192
/** Characters of a settings schema. */
const LONGEST = 256 * 1024

/** Why a value is no JSON Schema that a module may have for its settings; undefined if it is one. */
export async function schemaFault(schema: object): Promise<string | undefined> {
  const [fault] = await evaluate({ kind: 'schema', schema })
  return fault
}

/** The faults of a module's settings, as `moduleSettings` finds them; empty if they are valid. */
export async function settingFaults(
  { modules, environment }: SettingsSources,
  id: string,
  schema: TSchema | undefined,
): Promise<Faults> {
  // Nothing of a stranger to evaluate.
  if (schema === undefined) {
    const isEmpty = Object.keys((Object.hasOwn(modules, id) && modules[id]) || {}).length === 0
    return isEmpty ? [] : [`"modules.${id}" has settings, but ${id} has no settings: remove them`]
  }
  const names = Object.entries(environment).filter(([name]) => name.startsWith('APP_MODULES_'))
  const own = Object.hasOwn(modules, id) ? { [id]: modules[id] as object } : {}
  const sources = { modules: own as SettingsSources['modules'], environment: Object.fromEntries(names) }
  return await evaluate({ kind: 'settings', sources, id, schema })
}

/** @throws {ConfigError} as `moduleSettings` does */
export async function assertSettings(
  sources: SettingsSources,
  id: string,
  schema: TSchema | undefined,
): Promise<void> {
  const faults = await settingFaults(sources, id, schema)
  if (faults.length > 0) throw new ConfigError(faults.join('; '), faults)
}

/** One question at a time, so that each has all of its time. */
let last: Promise<unknown> = Promise.resolve()

const evaluate = (question: Question): Promise<Faults> => inTurn(() => ask(question))

/** Ends the child process; the next question starts another. A command calls it before it ends. */
export const endEvaluation = (): Promise<void> => inTurn(end)

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = last.then(work, work)
  last = done
  return done
}

async function end(): Promise<void> {
  const idle = child
  if (idle === undefined) return
  idle.ref()
  idle.kill('SIGKILL')
  await once(idle, 'close')
}

async function ask(question: Question): Promise<Faults> {
  const subject = question.kind === 'settings' ? `"modules.${question.id}"` : 'it'
  const text = textOf(question.schema)
  if (text === undefined) return [`${subject} is nested too deeply`]
  if (text.length > LONGEST) return [`${subject} has more than ${LONGEST / 1024} KiB`]
  const asked = await running()
  const { promise, resolve } = Promise.withResolvers<Faults>()
  let fault = `needs more than ${MEMORY} MiB of memory to evaluate`
  const timer = setTimeout(() => {
    fault = `takes more than ${TIMEOUT / 1000} s to evaluate: a pattern or a reference has no end`
    asked.kill('SIGKILL')
  }, TIMEOUT)
  const onEnd = () => resolve([`${subject} ${fault}`])
  asked.once('message', resolve).once('close', onEnd)
  keepAlive(asked, true)
  asked.send(question)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    asked.off('message', resolve).off('close', onEnd)
    keepAlive(asked, false)
  }
}

function textOf(schema: object | undefined): string | undefined {
  try {
    return schema === undefined ? '' : JSON.stringify(schema)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

let child: ChildProcess | undefined

/** Responds to all questions of this process, until it has to be killed, and ends with it. */
async function running(): Promise<ChildProcess> {
  if (child !== undefined) return child
  const extension = extname(import.meta.filename)
  const begun = fork(join(import.meta.dirname, `evaluate-child${extension}`), [String(process.pid)], {
    env: {},
    execArgv: [
      ...[`--max-old-space-size=${MEMORY}`, '--no-warnings', '--permission', '--allow-worker'],
      ...codeFolders().map((path) => `--allow-fs-read=${path}`),
    ],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  child = begun
  const forget = () => {
    if (child === begun) child = undefined
  }
  begun.once('exit', forget).on('error', forget)
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  const onClose = () => reject(new Error('the process that evaluates settings could not be started'))
  begun.once('message', resolve).once('close', onClose).once('error', reject)
  await promise
  begun.off('close', onClose).off('error', reject)
  return begun
}

function keepAlive(child: ChildProcess, isNeeded: boolean): void {
  const call = isNeeded ? 'ref' : 'unref'
  child[call]()
  child.channel?.[call]()
}
