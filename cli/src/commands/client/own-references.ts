/** Levels of a document; ours has some thirty. */
const DEEPEST = 200

/**
 * Refuses a document that refers to anything outside of itself. The generator would read that: a
 * file of this machine, or a URL of another host.
 * @throws {Error} with the reason
 */
export function assertOwnReferences(document: unknown): void {
  const rest: { readonly value: unknown; readonly depth: number }[] = [{ value: document, depth: 0 }]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { value, depth } = next
    if (typeof value !== 'object' || value === null) continue
    if (depth === DEEPEST) throw new Error(`the document has more than ${DEEPEST} levels`)
    const { $ref, externalValue, discriminator } = value as Readonly<Record<string, unknown>>
    const mapped = Object(Object(discriminator).mapping)
    for (const reference of [$ref, externalValue, ...Object.values(mapped)])
      if (typeof reference === 'string' && !isOwn(reference))
        throw new Error(
          `the document refers to ${encodeURI(reference.slice(0, 200).toWellFormed())}: it may only refer to itself, by #/…`,
        )
    for (const child of Object.values(value)) rest.push({ value: child, depth: depth + 1 })
  }
}

/** The document, a pointer into it, or an anchor. The generator takes any other `#…` for a path. */
const isOwn = (reference: string) => /^#($|\/|[A-Za-z][\w.:-]*$)/.test(reference)
