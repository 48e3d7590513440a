/**
 * Makes a value at its first use: once, even for many who ask at the same time. A failure is not
 * kept, so the next use tries again.
 */
export function madeOnce<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}
