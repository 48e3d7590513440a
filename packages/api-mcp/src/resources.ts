import { type Resource, type ResourceTemplateType, UriTemplate } from '@modelcontextprotocol/server'
import { filledPath, variablesOf } from './route-path.ts'
import type { RouteTool } from './tools.ts'

const SCHEME = 'mortise:'
const DOCUMENT = '/openapi.json'

/** GET routes of one resource, as addresses that begin with `mortise:`, and the OpenAPI document. */
export const resourcesOf = (tools: readonly RouteTool[]): Resource[] => [
  { ...JSON_TEXT, uri: SCHEME + DOCUMENT, name: 'openapi', title: 'The OpenAPI document' },
  ...shown(tools)
    .filter(({ path }) => !UriTemplate.isTemplate(path))
    .map((route) => ({ ...described(route), uri: SCHEME + route.path })),
]

export const templatesOf = (tools: readonly RouteTool[]): ResourceTemplateType[] =>
  shown(tools)
    .filter(({ path }) => UriTemplate.isTemplate(path))
    .map((route) => ({ ...described(route), uriTemplate: SCHEME + route.path }))

/** The path of a resource that these tools show, filled as for a tool; undefined for every other address. */
export function pathOfResource(uri: string, tools: readonly RouteTool[]): string | undefined {
  if (!uri.startsWith(SCHEME)) return undefined
  const path = uri.slice(SCHEME.length)
  if (path === DOCUMENT) return path
  for (const { path: route } of shown(tools)) {
    const variables = variablesOf(route, path)
    if (variables !== undefined) return filledPath(route, variables)
  }
  return undefined
}

const JSON_TEXT = { mimeType: 'application/json' }
const shown = (tools: readonly RouteTool[]) => tools.filter(({ showsResource }) => showsResource)
const described = ({ tool: { name, title } }: RouteTool) => ({ ...JSON_TEXT, name, title })
