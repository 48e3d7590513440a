/** The problems (`404 note-not-found`) that a README lists in a table whose rows begin with status and code, sorted. */
export function problemsInReadme(text: string): string[] {
  const rows = text.matchAll(/^\| (\d{3}) +\| `([a-z-]+)` +\|/gm)
  return Array.from(rows, ([, status, code]) => `${status} ${code}`).sort()
}

/** What of an OpenAPI document is looked at. */
export interface DescribedRoutes {
  /** By path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedRoute>>>>
}

interface DescribedRoute {
  readonly responses?: Readonly<Record<string, { readonly description: string }>>
}

/** The problems (`404 note-not-found`) that the routes of an OpenAPI document say they answer. */
export function problemsInOpenapi({ paths }: DescribedRoutes): Set<string> {
  const routes = Object.values(paths).flatMap((methods) => Object.values(methods))
  const answers = routes.flatMap(({ responses = {} }) => Object.entries(responses))
  return new Set(
    answers.flatMap(([status, { description }]) =>
      Array.from(description.matchAll(/`([a-z-]+)`/g), ([, code]) => `${status} ${code}`),
    ),
  )
}
