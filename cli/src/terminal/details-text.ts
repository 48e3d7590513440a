/** The details of a record in words: `generation 3; changes + hello 1.0.0`. */
export function detailsText(details: Readonly<Record<string, unknown>>): string {
  return Object.entries(details)
    .map(([name, value]) => `${wordsOf(name)} ${textOf(value)}`)
    .join('; ')
}

/** `expiresIn` as `expires in`. */
const wordsOf = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)

function textOf(value: unknown): string {
  if (value === null || value === '') return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.map(textOf).join(', ') || 'none'
  if (typeof value === 'object') return `(${detailsText(value as Record<string, unknown>)})`
  return String(value)
}
