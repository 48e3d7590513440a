import { Failure, type FailureKind } from './failure.ts'

/** The places of a text: `port` in `Port {port} is taken.` */
type Places<Text extends string> = Text extends `${string}{${infer Place}}${infer Rest}`
  ? Place | Places<Rest>
  : never

/** What stands in each place, and the error that caused the failure. */
type Values<Text extends string> = { readonly [Key in Places<Text>]: string | number } & {
  readonly cause?: unknown
  readonly details?: Readonly<Record<string, unknown>>
}

/** What to do next, by case: the operator can change their own module, but only report another's. */
type Hints = Readonly<Record<string, string>>

/** The values of one of the cases, which `hint` names. */
type CaseValues<Message extends string, Cases extends Hints> = {
  [Case in keyof Cases]: Values<Message | Cases[Case]> & { readonly hint: Case }
}[keyof Cases]

interface FailureTexts {
  readonly kind: FailureKind
  readonly code: string
  readonly message: string
  readonly hints: Hints
}

/** An entry of the registry: a function that fills the placeholders of its texts and makes the failure to throw. */
export type FailureEntry<Values = unknown> = FailureTexts &
  ([Partial<Values>] extends [Values] ? (values?: Values) => Failure : (values: Values) => Failure)

const definer =
  (kind: FailureKind) =>
  <Message extends string, const Hint extends string | Hints>(
    code: string,
    message: Message,
    hint: Hint,
  ): FailureEntry<
    Hint extends string ? Values<Message | Hint> : Hint extends Hints ? CaseValues<Message, Hint> : never
  > => {
    const hints: Hints = typeof hint === 'string' ? { always: hint } : hint
    const create = (values: Readonly<Record<string, unknown>> = {}) => {
      const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, place) => String(values[place]))
      const advice = hints[typeof hint === 'string' ? 'always' : String(values.hint)] as string
      return new Failure(kind, code, fill(message), fill(advice), values)
    }
    return Object.assign(create, { kind, code, message, hints }) as never
  }

/**
 * Declares a way in which a command fails, of each kind. docs/errors.md lists all of them, with
 * their texts.
 *
 * - code: kebab-case, stable; several failures may share one that a program handles alike
 * - message: what happened and why, a sentence with `{places}`
 * - hint: what to do next, with `{places}`; or one hint for each case, which the caller names
 */
export const define = {
  unexpected: definer('unexpected'),
  usage: definer('usage'),
  notFound: definer('notFound'),
  refused: definer('refused'),
  activation: definer('activation'),
  busy: definer('busy'),
  fatal: definer('fatal'),
}
