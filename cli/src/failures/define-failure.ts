import { Failure, type FailureKind } from './failure.ts'

/** The places of a text: `port` in `Port {port} is taken.` */
type Places<Text extends string> = Text extends `${string}{${infer Place}}${infer Rest}`
  ? Place | Places<Rest>
  : never

/** What stands in each place, and the error that caused the failure. */
type Values<Place extends string> = { readonly [Key in Place]: string | number } & {
  readonly cause?: unknown
}

/** An entry of the registry. Called with what stands in the places of its texts, it makes the failure to throw. */
export interface FailureEntry<Place extends string = never> {
  (...values: [Place] extends [never] ? [values?: Values<never>] : [values: Values<Place>]): Failure
  readonly kind: FailureKind
  readonly code: string
  readonly message: string
  readonly hint: string
}

/**
 * Declares a way in which a command fails. docs/errors.md lists all of them, with their texts.
 *
 * @param code kebab-case, stable; several failures may share one that a program handles alike
 * @param message what happened and why, a sentence with `{places}`
 * @param hint what to do next, with `{places}`
 */
export function defineFailure<Message extends string, Hint extends string>(
  kind: FailureKind,
  code: string,
  message: Message,
  hint: Hint,
): FailureEntry<Places<Message | Hint>> {
  const create = (values: Readonly<Record<string, unknown>> = {}) => {
    const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, place) => String(values[place]))
    return new Failure(kind, code, fill(message), fill(hint), values)
  }
  return Object.assign(create, { kind, code, message, hint })
}
