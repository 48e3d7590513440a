/**
 * RFC 3339, UTC, milliseconds, from epoch milliseconds: the only format of times in the API. Null
 * stays null.
 */
export function timestamp(epochMilliseconds: number): string
export function timestamp(epochMilliseconds: number | null): string | null
export function timestamp(epochMilliseconds: number | null): string | null {
  return epochMilliseconds === null ? null : new Date(epochMilliseconds).toISOString()
}

/** A record as its table stores it: fields that end in `At` are epoch milliseconds. */
export type Row<Shown> = {
  [Key in keyof Shown]: Key extends `${string}At` ? Exclude<Shown[Key], string> | number : Shown[Key]
}

/** A day in milliseconds. */
export const DAY = 86_400_000
