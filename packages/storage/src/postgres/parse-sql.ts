import { loadModule, parseSync } from 'libpg-query'

/** A node of PostgreSQL's parse tree: a list, a value, or its fields. */
export type Node = Readonly<Record<string, unknown>>

/** The statements of a text, each an object with one field: the kind, `SelectStmt`, and its node. */
export type Parse = (text: string) => Node[]

/**
 * The parser of PostgreSQL itself, compiled to WebAssembly, so that a statement means here what it
 * means to the server.
 */
export async function loadParser(): Promise<Parse> {
  await loadModule()
  return (text) =>
    (text === '' ? [] : (parseSync(text).stmts ?? [])).map(({ stmt }) => stmt as unknown as Node)
}

/** The kind of a statement and its node: `['SelectStmt', …]`. */
export const kindOf = (statement: Node) => Object.entries(statement)[0] as [string, Node]

/** The first node below `value`, or itself, for which `is` holds. */
export function findNode(value: unknown, is: (node: Node) => boolean): Node | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Array.isArray(value) && is(value as Node)) return value as Node
  for (const part of Object.values(value)) {
    const found = findNode(part, is)
    if (found !== undefined) return found
  }
  return undefined
}

/** The last part of a name with or without a schema, and the schema. */
export function nameOf(parts: unknown): { readonly name: string; readonly schema: string | undefined } {
  const names = (parts as { readonly String?: { readonly sval?: string } }[]).map(
    ({ String: part }) => part?.sval ?? '',
  )
  return { name: names.at(-1) ?? '', schema: names.at(-2) }
}
