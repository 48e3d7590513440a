/**
 * The records of a CSV text (RFC 4180), as spreadsheets write it: any line end, and one of three
 * separators. Strict about quotes, since nobody knows where a record ends after a wrong one.
 */

/** Spreadsheets take the one that their locale names, or a tab. */
export const separators = { comma: ',', semicolon: ';', tab: '\t' } as const
export type SeparatorName = keyof typeof separators

export interface CsvRecord {
  /** On which it begins. */
  readonly line: number
  /** None for an empty line. */
  readonly cells: readonly string[]
  /** Why it could not be read. It is the last then. */
  readonly detail?: string
}

/** No product has more. What is read at once stays short. */
const MOST_CELLS = 100
export const MOST_CHARACTERS = 512 * 1024
const tooLong = `a line has more than ${MOST_CHARACTERS} characters`
/** Empty lines that are skipped at once. */
const MOST_EMPTY = 100_000

export function* readRecords(text: string, separator: string): Generator<CsvRecord> {
  const endOfPlain = new RegExp(`[${separator}"\r\n]`, 'g')
  let [at, line] = [0, 1]
  while (at < text.length) {
    const [begin, first] = [at, line]
    const failed = (reason: string) => ({
      line: first,
      cells: [],
      detail: `must be CSV, and the rest was not read: ${reason}`,
    })
    const cells: string[] = []
    for (let isMore = true; isMore; ) {
      let cell: string
      if (text[at] === '"') {
        const end = endOfQuoted(text, at, begin + MOST_CHARACTERS)
        if (end === undefined) return yield failed(tooLong)
        if (end === -1) return yield failed('a quote has no end')
        cell = text.slice(at + 1, end).replaceAll('""', '"')
        line += cell.match(/\r\n?|\n/g)?.length ?? 0
        at = end + 1
        if (at < text.length && text[at] !== separator && !isLineEnd(text[at]))
          return yield failed('text follows the end of a quote')
      } else {
        endOfPlain.lastIndex = at
        const end = endOfPlain.exec(text)?.index ?? text.length
        if (text[end] === '"') return yield failed('a quote is inside of a cell that does not begin with one')
        cell = text.slice(at, end)
        at = end
      }
      cells.push(cell)
      if (cells.length > MOST_CELLS) return yield failed(`a line has more than ${MOST_CELLS} cells`)
      if (at - begin > MOST_CHARACTERS) return yield failed(tooLong)
      isMore = text[at] === separator
      if (isMore) at += 1
    }
    const isEmpty = cells.length === 1 && (cells[0] as string).trim() === ''
    for (
      let ends = 0;
      at < text.length && isLineEnd(text[at]) && ends < (isEmpty ? MOST_EMPTY : 1);
      ends += 1
    ) {
      at += text.startsWith('\r\n', at) ? 2 : 1
      line += 1
    }
    yield { line: first, cells: isEmpty ? [] : cells }
  }
}

const isLineEnd = (character: string | undefined) => character === '\n' || character === '\r'

/** The closing quote of a cell that begins with one at `start`; -1 without, undefined if it is not before `limit`. */
function endOfQuoted(text: string, start: number, limit: number): number | undefined {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 2)) {
    if (at > limit) return undefined
    if (text[at + 1] !== '"') return at
  }
  return -1
}
