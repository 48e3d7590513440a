/** The answer to a write as it was decided in its transaction: what is sent after the commit, to the byte. */
export interface Decided {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for no body. */
  readonly text: string | undefined
  /** The id of an event of the same transaction whose data are `text`, to the byte. */
  readonly event?: string | undefined
  /** Whether it was decided for an earlier request with the same Idempotency-Key. */
  readonly replayed: boolean
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}
