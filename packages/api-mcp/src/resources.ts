import type { Resource, ResourceTemplateType } from '@modelcontextprotocol/server'
import type { RouteTool } from './tools.ts'

const SCHEME = 'mortise:'
const DOCUMENT = '/openapi.json'

/** GET routes of one resource, as addresses that begin with `mortise:`, and the OpenAPI document. */
export function resourcesOf(tools: readonly RouteTool[]): Resource[] {
  const document = {
    uri: SCHEME + DOCUMENT,
    name: 'openapi',
    title: 'The OpenAPI document',
    mimeType: 'application/json',
  }
  return [
    document,
    ...shown(tools)
      .filter(isFixed)
      .map((route) => ({ uri: SCHEME + route.path, ...described(route) })),
  ]
}

export const templatesOf = (tools: readonly RouteTool[]): ResourceTemplateType[] =>
  shown(tools)
    .filter((route) => !isFixed(route))
    .map((route) => ({ uriTemplate: SCHEME + route.path, ...described(route) }))

/** The path of a resource that these tools show; undefined for every other address. */
export function pathOfResource(uri: string, tools: readonly RouteTool[]): string | undefined {
  if (!uri.startsWith(SCHEME)) return undefined
  const path = uri.slice(SCHEME.length)
  const isShown = path === DOCUMENT || shown(tools).some((route) => matches(route, path))
  return isShown ? path : undefined
}

const shown = (tools: readonly RouteTool[]) => tools.filter(({ showsResource }) => showsResource)
const isFixed = ({ path }: RouteTool) => !path.includes('{')
const described = ({ tool }: RouteTool) => ({
  name: tool.name,
  title: tool.title,
  mimeType: 'application/json',
})

const matches = ({ path }: RouteTool, asked: string) => {
  const expected = path.split('/')
  const given = asked.split('/')
  return (
    given.length === expected.length &&
    expected.every(
      (part, index) =>
        part === given[index] || (/^\{\w+\}$/.test(part) && /^[\w.~%-]+$/.test(given[index] ?? '')),
    )
  )
}
