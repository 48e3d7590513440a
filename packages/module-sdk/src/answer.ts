/** The answer to a request, decided inside its transaction: see `request.transaction`. */
export class Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, body: unknown, headers: Readonly<Record<string, string>>) {
    this.status = status
    this.body = body
    this.headers = headers
  }
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
  return new Answer(status, body, headers)
}
