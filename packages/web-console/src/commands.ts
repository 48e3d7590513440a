import type { CommandResult, Operator } from '@mortise/module-sdk'
import { problem } from './module.ts'

/** So many commands run beside each other: each is a process. */
const AT_ONCE = 2
/** So many wait for that. */
const MOST_WAITING = 20

/** Runs commands that only look. Who asks the same at the same time gets the same. */
export class Commands {
  readonly #operator: Operator
  readonly #asked = new Map<string, Promise<unknown>>()
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(operator: Operator) {
    this.#operator = operator
  }

  /** The document of a command. @throws {Problem} `command-failed`, `commands-busy` */
  read(...call: Parameters<Operator['run']>): Promise<unknown> {
    const key = JSON.stringify(call)
    const asked = this.#asked.get(key) ?? this.#read(call).finally(() => this.#asked.delete(key))
    this.#asked.set(key, asked)
    return asked
  }

  async #read(call: Parameters<Operator['run']>): Promise<unknown> {
    if (this.#waiting.length >= MOST_WAITING) throw problem('commands-busy')
    if (this.#running >= AT_ONCE) await new Promise<void>((begin) => this.#waiting.push(begin))
    else this.#running += 1
    try {
      return documentOf(await this.#operator.run(...call))
    } finally {
      const next = this.#waiting.shift()
      if (next !== undefined) next()
      else this.#running -= 1
    }
  }
}

export interface CommandError {
  readonly code: string
  readonly exitCode: number
  readonly message: string
  readonly hint: string
}

/** A command may print a document and fail nevertheless: `doctor`, if it finds something. */
export function documentOf({ document, notes, exitCode }: CommandResult): unknown {
  const { error } = (document ?? {}) as { readonly error?: CommandError }
  if (document !== undefined && error === undefined) return document
  throw failureOf(error ?? { code: 'unexpected', exitCode, message: notes.trim(), hint: '' })
}

export const failureOf = ({ code, exitCode, message, hint }: CommandError) =>
  problem('command-failed', `${message} ${hint}`.trim(), { members: { command: { code, exitCode } } })
