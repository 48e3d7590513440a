/** `Symbol.for`, because a host can load several copies of the SDK. */
const kAnswer = Symbol.for('mortise.answer')

/** The response to a request, decided inside its transaction: see `request.transaction`. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Responds with `status` and `body`. The route's response schema for that status serializes the
 * body.
 * @param headers lower-case names; write a `location` as a path of the module
 * (`/cart/item/item_…`): the host adds the base path
 */
export function answer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return Object.assign({ status, body, headers }, { [kAnswer]: true })
}

/** Whether `answer` made this value, in any copy of the SDK. */
export const isAnswer = (value: unknown): value is Answer =>
  typeof value === 'object' && value !== null && kAnswer in value
