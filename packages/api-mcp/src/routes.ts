import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { createMcpHandler } from '@modelcontextprotocol/server'
import type { ModuleContext, ModuleInstance } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Calls } from './calls.ts'
import type { Document } from './document.ts'
import { problem, responses, type Settings } from './module.ts'
import { assertOwnOrigin } from './origins.ts'
import { serverFor } from './server.ts'
import { type RouteTool, scopesOf, toolsOf } from './tools.ts'

const SESSION = 'mcp-session-id'
/** The method whose response stays open. */
const LISTEN = 'subscriptions/listen'
const METADATA = '/.well-known/oauth-protected-resource'

const Message = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(Type.Union([Type.String(), Type.Number()])),
    method: Type.Optional(Type.String()),
  },
  {
    title: 'McpMessage',
    additionalProperties: true,
    description: 'a message of JSON-RPC 2.0, as MCP has it',
  },
)
const content = {
  'application/json': { schema: Message },
  'text/event-stream': { schema: Type.String({ title: 'McpStream' }) },
}

export function mcpRoutes(app: ModuleInstance, { settings, retiring }: ModuleContext<Settings>): void {
  let known: Promise<{ document: Document; tools: readonly RouteTool[] }> | undefined
  const offered = () => {
    known ??= app.inject(`${app.prefix}/openapi.json`).then((response) => {
      const document: Document = response.json()
      return { document, tools: toolsOf(document, settings) }
    })
    return known
  }
  /** As the clients write it: `publicUrl`, if it is set. */
  const urlOf = async ({ protocol, host }: FastifyRequest) => {
    const [server] = (await offered()).document.servers
    const isWhole = /^https?:/.test(server?.url ?? '')
    return `${isWhole ? server?.url : `${protocol}://${host}${app.prefix}`}/mcp`
  }
  const requests = new WeakMap<Request, FastifyRequest>()
  const handler = createMcpHandler(
    async ({ requestInfo }) => {
      const request = requests.get(requestInfo as Request) as FastifyRequest
      const id = request.headers[SESSION]
      return serverFor({
        ...(await offered()),
        caller: request.caller,
        calls: new Calls(app, request),
        id: typeof id === 'string' ? id : undefined,
      })
    },
    { onerror: (error) => app.log.debug(error, 'an MCP message failed') },
  )
  // The next generation may have other tools.
  retiring.addEventListener('abort', () => {
    handler.notify.toolsChanged()
    handler.notify.resourcesChanged()
    void handler.close()
  })
  app.addHook('onClose', () => handler.close())

  app.post(
    '/mcp',
    {
      config: {
        access: 'caller',
        idempotencyKey: false,
        problemForm: ({ status, detail, ...problem }) => ({
          body: {
            jsonrpc: '2.0',
            id: null,
            error: {
              code: status < 500 ? -32_600 : -32_603,
              message: detail,
              data: { status, detail, ...problem },
            },
          },
        }),
      },
      schema: {
        summary: 'Send a message of the Model Context Protocol',
        description: 'Every route that takes and sends JSON is a tool. See https://modelcontextprotocol.io.',
        body: Message,
        response: {
          '2xx': Type.Unsafe({ description: 'the response', content }),
          '4xx': Message,
          '5xx': Message,
        },
      },
      onRequest: async (request) => assertOwnOrigin(request, settings.origins),
      onSend: async (request, reply) => {
        if (reply.statusCode !== 401 || settings.authorizationServers.length === 0) return
        const challenge = String(reply.getHeader('www-authenticate') ?? 'Bearer')
        const { origin, pathname } = new URL(await urlOf(request))
        const metadata = `resource_metadata="${origin}${METADATA}${pathname}"`
        reply.header('www-authenticate', `${challenge}${challenge.includes(' ') ? ',' : ''} ${metadata}`)
      },
    },
    async (request, reply) => {
      const url = `${request.protocol}://${request.host}${request.url}`
      const headers = { ...request.headers, accept: acceptOf(request.headers.accept) }
      const message = new Request(url, { method: 'POST', headers: headers as never })
      requests.set(message, request)
      if (request.body.method === LISTEN) reply.holdOpen()
      const response = await handler.fetch(message, { parsedBody: request.body })
      if (request.body.method === 'initialize') reply.header(SESSION, randomUUID())
      return forward(response, reply)
    },
  )

  for (const url of [METADATA, `${METADATA}/mcp`]) {
    app.get(
      url,
      {
        config: { access: 'public' },
        schema: {
          summary: 'Where a client of /mcp gets a token (RFC 9728)',
          response: {
            200: Type.Object({
              resource: Type.String(),
              authorization_servers: Type.Array(Type.String()),
              scopes_supported: Type.Array(Type.String()),
              bearer_methods_supported: Type.Array(Type.String()),
            }),
            ...responses('no-authorization-servers'),
          },
        },
      },
      async (request) => {
        if (settings.authorizationServers.length === 0) throw problem('no-authorization-servers')
        return {
          resource: await urlOf(request),
          authorization_servers: settings.authorizationServers,
          scopes_supported: scopesOf((await offered()).tools),
          bearer_methods_supported: ['header'],
        }
      },
    )
  }
}

const BOTH = 'application/json, text/event-stream'

/** The protocol names two types; who takes anything takes both. */
const acceptOf = (accept = '*/*') =>
  accept.split(',').some((one) => /^\s*\*\/\*(?!.*;\s*q=0(\.0*)?\s*$)/.test(one)) ? BOTH : accept

/** The host sets all other headers. */
const SENT_ON = ['content-type', 'x-accel-buffering']

function forward(response: Response, reply: FastifyReply): FastifyReply {
  reply.code(response.status)
  for (const name of SENT_ON) {
    const value = response.headers.get(name)
    if (value !== null) reply.header(name, value)
  }
  return reply.send(response.body === null ? undefined : Readable.fromWeb(response.body as never))
}
