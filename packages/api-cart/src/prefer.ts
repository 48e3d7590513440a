/**
 * Whether `Prefer` (RFC 7240) asks a write for the whole representation: `return=representation`.
 * The first preference with a name counts.
 */
export function prefersRepresentation(header: string | readonly string[] | undefined): boolean {
  const preferences = [header ?? []].flat().join(',').split(',')
  const values = preferences.flatMap((preference) => RETURN.exec(preference)?.[1]?.toLowerCase() ?? [])
  return values[0] === 'representation'
}

const RETURN = /^\s*return\s*=\s*"?([\w-]*)"?\s*(?:;.*)?$/i
