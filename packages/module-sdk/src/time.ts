/** RFC 3339, UTC, milliseconds, from epoch milliseconds: the one form in which times leave the API. */
export function timestamp(epochMilliseconds: number): string {
  return new Date(epochMilliseconds).toISOString()
}

/** A day in milliseconds. */
export const DAY = 86_400_000
