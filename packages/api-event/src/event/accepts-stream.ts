/** A media range of an `Accept` header (RFC 9110, 12.5.1). */
interface Range {
  readonly quality: number
  /** 2 for a media type, 1 for all subtypes of a type, 0 for all types. */
  readonly precision: number
}

const NONE: Range = { quality: 0, precision: -1 }

/** By quality value, then by precision. JSON is the default. */
export function acceptsStream(accept: string | undefined): boolean {
  if (accept === undefined || !/event-stream|text\/\*/i.test(accept)) return false
  const ranges = accept.toLowerCase().split(',')
  const stream = rangeFor('text/event-stream', ranges)
  const json = rangeFor('application/json', ranges)
  if (stream.quality !== json.quality) return stream.quality > json.quality
  return stream.quality > 0 && stream.precision > json.precision
}

/** The most precise range that matches `type` counts. */
function rangeFor(type: string, ranges: readonly string[]): Range {
  const names = ['*/*', `${type.split('/')[0]}/*`, type]
  let found = NONE
  for (const range of ranges) {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim())
    const precision = names.indexOf(name)
    if (precision > found.precision) found = { quality: qualityIn(parameters), precision }
  }
  return found
}

/** 1 if the quality is missing; 0 if it is not a quality value. */
function qualityIn(parameters: readonly string[]): number {
  const value = parameters.find((part) => part.startsWith('q='))?.slice(2) ?? '1'
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(value) ? Number(value) : 0
}
