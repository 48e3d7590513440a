/** The same in every copy of the SDK. */
const kAnswer = Symbol.for('mortise.answer')

/** The answer to a request, decided inside its transaction: see `request.transaction`. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Answers `status` with `body`, serialized by the route's response schema for that status.
 *
 * @param headers lower-case names; a `location` is written as a path of the module's own
 *   (`/cart/item/item_…`): the host puts the base path in front.
 */
export function answer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return Object.assign({ status, body, headers }, { [kAnswer]: true })
}

/** Whether it was made by `answer`, of any copy of the SDK. */
export const isAnswer = (value: unknown): value is Answer =>
  typeof value === 'object' && value !== null && kAnswer in value
