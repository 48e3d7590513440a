/** Longest stored error text, in characters. */
const MAX_ERROR = 1_000

/** An error as an operator sees it later. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return text.replaceAll('\0', '').slice(0, MAX_ERROR)
}
