// Changes one value in the text of a JSON document and leaves every other byte of it alone: app.config.json is
// a person's file. The text must be valid JSON that holds an object.

/** The same text with `value` at `path`; objects that are missing on the way are made. */
export function setInJson(text: string, path: readonly string[], value: unknown): string {
  const { object, depth, member } = find(text, path)
  if (member) {
    const indentation = indentationAt(text, member.start)
    return splice(text, member.valueStart, member.valueEnd, written(text, value, indentation))
  }
  const [key, ...rest] = path.slice(depth) as [string, ...string[]]
  const nested = rest.reduceRight((inner, name) => ({ [name]: inner }), value)
  return insert(text, object, key, nested)
}

/** The same text without the member at `path`, nor the objects that it leaves empty. */
export function unsetInJson(text: string, path: readonly string[]): string {
  const { object, member } = find(text, path)
  if (!member) return text
  if (object.members.length === 1 && path.length > 1) return unsetInJson(text, path.slice(0, -1))
  const index = object.members.indexOf(member)
  const [before, after] = [object.members[index - 1], object.members[index + 1]]
  if (after) return splice(text, member.start, after.start, '')
  if (before) return splice(text, before.valueEnd, member.valueEnd, '')
  return splice(text, object.start + 1, object.end - 1, '')
}

/** A value in the text, from `start` up to `end`. */
interface ObjectNode {
  readonly start: number
  readonly end: number
  readonly members: readonly Member[]
}

interface Member {
  readonly key: string
  /** Where its key begins. */
  readonly start: number
  readonly valueStart: number
  readonly valueEnd: number
}

/** The deepest object on `path` that is there, how much of the path leads to it, and the member at the path's end. */
function find(text: string, path: readonly string[]) {
  let object = objectAt(text, skipBlanks(text, 0))
  for (const [depth, key] of path.entries()) {
    // Of a key that is there twice the last one counts, as for JSON.parse.
    const member = object.members.findLast((candidate) => candidate.key === key)
    if (!member || depth === path.length - 1) return { object, depth, member }
    if (text[member.valueStart] !== '{') throw new TypeError(`"${key}" is no object`)
    object = objectAt(text, member.valueStart)
  }
  throw new RangeError('the path is empty')
}

function objectAt(text: string, start: number): ObjectNode {
  const members: Member[] = []
  let at = skipBlanks(text, start + 1)
  while (text[at] !== '}') {
    const keyEnd = endOfValue(text, at)
    const valueStart = skipBlanks(text, skipBlanks(text, keyEnd) + 1)
    const valueEnd = endOfValue(text, valueStart)
    members.push({ key: JSON.parse(text.slice(at, keyEnd)), start: at, valueStart, valueEnd })
    at = skipBlanks(text, valueEnd)
    if (text[at] === ',') at = skipBlanks(text, at + 1)
  }
  return { start, end: at + 1, members }
}

function endOfValue(text: string, start: number): number {
  const token = /"(?:[^"\\]|\\.)*"|[[{]|[\]}]|[^\s,:[\]{}"]+/g
  token.lastIndex = start
  for (let open = 0; ; ) {
    const found = token.exec(text)
    if (!found) throw new SyntaxError('the text is no JSON')
    if (/^[[{]/.test(found[0])) open += 1
    if (/^[\]}]/.test(found[0])) open -= 1
    if (open === 0) return token.lastIndex
  }
}

function skipBlanks(text: string, at: number): number {
  const blanks = /\s*/y
  blanks.lastIndex = at
  blanks.exec(text)
  return blanks.lastIndex
}

function insert(text: string, object: ObjectNode, key: string, value: unknown): string {
  const last = object.members.at(-1)
  const outer = indentationAt(text, object.start)
  const own = last ? indentationAt(text, last.start) : outer + unitOf(text)
  const lines = last ? text.slice(object.start, last.start).includes('\n') : text.includes('\n')
  const member = `${JSON.stringify(key)}: ${written(text, value, own)}`
  if (last) return splice(text, last.valueEnd, last.valueEnd, lines ? `,\n${own}${member}` : `, ${member}`)
  return splice(text, object.start, object.end, lines ? `{\n${own}${member}\n${outer}}` : `{${member}}`)
}

/** A value as text, in lines where the document is. */
function written(text: string, value: unknown, indentation: string): string {
  if (!text.includes('\n')) return JSON.stringify(value)
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', `\n${indentation}`)
}

/** What one level is indented by. */
const unitOf = (text: string) => /\n([ \t]+)\S/.exec(text)?.[1] ?? '  '

const indentationAt = (text: string, at: number) =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))?.[0] ?? ''

const splice = (text: string, start: number, end: number, replacement: string) =>
  text.slice(0, start) + replacement + text.slice(end)
