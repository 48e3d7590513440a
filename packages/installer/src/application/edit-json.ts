import { type Node, parseTree } from 'jsonc-parser'

// Changes one value in the text of a JSON document and keeps every other byte, because a person
// edits app.config.json too. The text must be a valid JSON object.

/** The text with `value` at `path`. Creates missing objects on the path. */
export function setInJson(text: string, path: readonly string[], value: unknown): string {
  const { object, depth, member } = find(text, path)
  if (member) {
    const previous = memberValue(member)
    const present = written(text, value, indentationAt(text, member.offset))
    return splice(text, previous.offset, endOf(previous), present)
  }
  const [key, ...rest] = path.slice(depth) as [string, ...string[]]
  const nested = rest.reduceRight((inner, name) => ({ [name]: inner }), value)
  return insert(text, object, key, nested)
}

/** The text without the member at `path`, and without the objects that become empty. */
export function unsetInJson(text: string, path: readonly string[]): string {
  const { object, member } = find(text, path)
  if (!member) return text
  const members = membersOf(object)
  if (members.length === 1 && path.length > 1) return unsetInJson(text, path.slice(0, -1))
  const index = members.indexOf(member)
  const [before, after] = [members[index - 1], members[index + 1]]
  if (after) return splice(text, member.offset, after.offset, '')
  if (before) return splice(text, endOf(before), endOf(member), '')
  return splice(text, object.offset + 1, endOf(object) - 1, '')
}

const membersOf = (object: Node): readonly Node[] => object.children ?? []
const keyOf = ({ children }: Node): unknown => children?.[0]?.value
const memberValue = ({ children }: Node): Node => children?.[1] as Node
const endOf = ({ offset, length }: Node): number => offset + length

/** The deepest object on `path`, how far it is, and the member at the end of the path. */
function find(text: string, path: readonly string[]) {
  let object = parseTree(text) as Node
  for (const [depth, key] of path.entries()) {
    // For a repeated key, JSON.parse takes the last value.
    const member = membersOf(object).findLast((candidate) => keyOf(candidate) === key)
    if (!member || depth === path.length - 1) return { object, depth, member }
    object = memberValue(member)
    if (object.type !== 'object') throw new TypeError(`"${key}" is not an object`)
  }
  throw new RangeError('the path is empty')
}

function insert(text: string, object: Node, key: string, value: unknown): string {
  const last = membersOf(object).at(-1)
  const outer = indentationAt(text, object.offset)
  const own = last ? indentationAt(text, last.offset) : outer + unitOf(text)
  const lines = last ? text.slice(object.offset, last.offset).includes('\n') : text.includes('\n')
  const member = `${JSON.stringify(key)}: ${written(text, value, own)}`
  if (last) return splice(text, endOf(last), endOf(last), lines ? `,\n${own}${member}` : `, ${member}`)
  return splice(text, object.offset, endOf(object), lines ? `{\n${own}${member}\n${outer}}` : `{${member}}`)
}

/** A value as text, on several lines if the document has several. */
function written(text: string, value: unknown, indentation: string): string {
  if (!text.includes('\n')) return JSON.stringify(value)
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', `\n${indentation}`)
}

const unitOf = (text: string) => /\n([ \t]+)\S/.exec(text)?.[1] ?? '  '

const indentationAt = (text: string, at: number) =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))?.[0] ?? ''

const splice = (text: string, start: number, end: number, replacement: string) =>
  text.slice(0, start) + replacement + text.slice(end)
