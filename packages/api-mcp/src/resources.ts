import { type Resource, type ResourceTemplateType, UriTemplate } from '@modelcontextprotocol/server'
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

/** The path of a resource that these tools show; undefined for every other address. */
export function pathOfResource(uri: string, tools: readonly RouteTool[]): string | undefined {
  const path = uri.slice(SCHEME.length)
  const isShown = path === DOCUMENT || shown(tools).some((tool) => new UriTemplate(tool.path).match(path))
  return isShown && uri.startsWith(SCHEME) ? path : undefined
}

const JSON_TEXT = { mimeType: 'application/json' }
const shown = (tools: readonly RouteTool[]) => tools.filter(({ showsResource }) => showsResource)
const described = ({ tool: { name, title } }: RouteTool) => ({ ...JSON_TEXT, name, title })
