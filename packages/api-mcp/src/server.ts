import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server'
import type { Caller } from '@mortise/module-sdk'
import type { Calls } from './calls.ts'
import type { Document } from './document.ts'
import { pathOfResource, resourcesOf, templatesOf } from './resources.ts'
import { mayCall, type RouteTool } from './tools.ts'

interface Session {
  readonly document: Document
  readonly tools: readonly RouteTool[]
  readonly caller: Caller
  readonly calls: Calls
  /** Differs between sessions; undefined if the client has none. */
  readonly id: string | undefined
}

/** A server for one message of one caller: it knows only what this caller may call. */
export function serverFor({ document, tools: all, caller, calls, id }: Session): Server {
  const tools = all.filter((tool) => mayCall(tool, caller))
  const { title: name, version } = document.info
  const server = new Server(
    { name, version },
    {
      capabilities: { tools: { listChanged: true }, resources: { listChanged: true } },
      instructions:
        'Each tool is a route of the API. A tool error is a problem (RFC 9457): decide by its code, and do what its detail says. Amounts of money are integers in minor units. If you repeat a call whose result did not arrive, send the same idempotencyKey: it then takes effect once.',
    },
  )
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(({ tool }) => tool) }))
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const route = tools.find(({ tool }) => tool.name === params.name)
    if (route === undefined)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no tool ${params.name}: list the tools.`,
      )
    const once = id === undefined ? undefined : `${id} ${context.mcpReq.id}`
    return calls.call(route, params.arguments ?? {}, once)
  })
  server.setRequestHandler('resources/list', () => ({ resources: resourcesOf(tools) }))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: templatesOf(tools) }))
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    const path = pathOfResource(uri, tools)
    const response = path === undefined ? undefined : await calls.get(path)
    if (response === undefined || response.statusCode >= 400)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        response?.body ?? `There is no resource ${uri}.`,
        { uri },
      )
    return { contents: [{ uri, mimeType: 'application/json', text: response.body }] }
  })
  return server
}
