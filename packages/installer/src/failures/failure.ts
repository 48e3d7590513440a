/** What the exit codes of the command mean: 0 is done, or nothing to do. */
export const exitCodes = {
  unexpected: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  activation: 5,
  busy: 6,
  /** Of a host whose disk fails; no other command has it. */
  fatal: 70,
} as const

export type FailureKind = keyof typeof exitCodes

interface FailureOptions extends ErrorOptions {
  readonly details?: Readonly<Record<string, unknown>>
}

/**
 * Why a command could not do its work: what happened and why (`message`, a sentence), and what to do next
 * (`hint`).
 */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: number
  /** Stable, for programs. */
  readonly code: string
  readonly hint: string
  /** More for programs: members of the error with --json. */
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(kind: FailureKind, code: string, message: string, hint: string, options?: FailureOptions) {
    super(sentence(message), options)
    this.exitCode = exitCodes[kind]
    this.code = code
    this.hint = hint
    this.details = options?.details
  }
}

/** A failure of another process of this command. */
export function failureOf({
  exitCode,
  code,
  message,
  hint,
}: Pick<Failure, 'exitCode' | 'code' | 'message' | 'hint'>): Failure {
  const kinds = Object.keys(exitCodes) as FailureKind[]
  const kind = kinds.find((name) => exitCodes[name] === exitCode) ?? 'unexpected'
  return new Failure(kind, code, message, hint)
}

/** As the beginning of a sentence. */
export const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** With one full stop: what others' errors say ends with one, or with none. */
function sentence(text: string): string {
  const ended = text.trim().replace(/\.*$/, (stops) => (stops.length > 2 ? stops : ''))
  return /[.!?…]$/.test(ended) ? ended : `${ended}.`
}
