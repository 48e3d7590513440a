const VARIABLE = /\{(\w+)\}/g

/** The path of a route, with its variables encoded: no value leads to another route. */
export const filledPath = (route: string, values: Readonly<Record<string, unknown>>): string =>
  route.replace(VARIABLE, (_, name) => encodeURIComponent(String(values[name])))

/** The variables of a path of this route, decoded; undefined if it is of another one, or has a query. */
export function variablesOf(route: string, path: string): Record<string, string> | undefined {
  const [names, values] = [route.split('/'), path.split('/')]
  if (names.length !== values.length || /[?#\\]/.test(path)) return undefined
  const variables: Record<string, string> = {}
  for (const [index, name] of names.entries()) {
    const value = values[index] as string
    const isVariable = name.startsWith('{')
    if (isVariable ? value === '' : value !== name) return undefined
    if (isVariable) variables[name.slice(1, -1)] = value
  }
  try {
    for (const [name, value] of Object.entries(variables)) variables[name] = decodeURIComponent(value)
    return variables
  } catch {
    return undefined
  }
}
