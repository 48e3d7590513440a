import type { Route } from './watch-module.ts'

/** The ids that a caller has got, by the path of their collection: `/note` → note_…. */
export class Ids {
  readonly #byCollection = new Map<string, string[]>()

  add(collection: string, id: unknown): void {
    if (typeof id !== 'string' && typeof id !== 'number') return
    const ids = this.#byCollection.get(collection) ?? []
    if (!ids.includes(String(id))) this.#byCollection.set(collection, [...ids, String(id)])
  }

  /** The first of each collection. */
  get firsts(): string[] {
    return [...this.#byCollection.values()].flatMap((ids) => ids.slice(0, 1))
  }

  get all(): string[] {
    return [...this.#byCollection.values()].flat()
  }

  /** Learns from a successful response to `path`. */
  learn(path: string, body: unknown, location: string | undefined): void {
    if (location !== undefined) {
      const slash = location.lastIndexOf('/')
      this.add(location.slice(0, slash), location.slice(slash + 1))
    }
    this.add(path, idOf(body))
    const list = Array.isArray(body) ? body : (body as { data?: unknown } | null)?.data
    if (Array.isArray(list)) for (const item of list) this.add(path, idOf(item))
  }

  /** The paths of a route whose parameters are all ids of this caller. */
  paths({ path }: Pick<Route, 'path'>): string[] {
    let paths = ['']
    for (const segment of path.split('/').slice(1)) {
      paths = paths.flatMap((prefix) =>
        segment.startsWith(':')
          ? (this.#byCollection.get(prefix) ?? []).map((id) => `${prefix}/${encodeURIComponent(id)}`)
          : [`${prefix}/${segment}`],
      )
    }
    return paths
  }
}

const idOf = (body: unknown): unknown =>
  typeof body === 'object' && body !== null && 'id' in body ? body.id : undefined

export const parametersOf = ({ path }: Pick<Route, 'path'>): string[] =>
  path.split('/').flatMap((segment) => (segment.startsWith(':') ? [segment.slice(1)] : []))
