import { createHash, randomUUID } from 'node:crypto'
import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { ModuleInstance } from '@mortise/module-sdk'
import type { FastifyRequest, LightMyRequestResponse } from 'fastify'
import type { RouteTool } from './tools.ts'

/** The headers of the caller that a call has too: credentials, where it comes from, its trace. */
const PASSED_ON = ['authorization', 'guest-token', 'host', 'x-forwarded-for', 'traceparent', 'user-agent']

/** A URL goes up a folder there, and so names another route. */
const DOTS = /\/(\.|%2e){1,2}([/?]|$)/i

/** Requests of the application itself, in this process, for the caller of `request`. */
export class Calls {
  readonly #app: ModuleInstance
  readonly #request: FastifyRequest

  constructor(app: ModuleInstance, request: FastifyRequest) {
    this.#app = app
    this.#request = request
  }

  /** @param path without the base path */
  get(path: string): Promise<LightMyRequestResponse> {
    return this.#send('GET', path, {})
  }

  /**
   * Calls a tool as its route would be called over HTTP. A problem becomes a tool error.
   * @param once names the call among those of the session: a call that is sent again has the same
   */
  async call(
    route: RouteTool,
    given: Readonly<Record<string, unknown>>,
    once?: string,
  ): Promise<CallToolResult> {
    const { tool, method } = route
    const known = Object.keys(tool.inputSchema.properties ?? {})
    const unknown = Object.keys(given).filter((name) => !known.includes(name))
    if (unknown.length > 0)
      return toolError(`There is no argument ${unknown.join(', ')}: use ${known.join(', ')}.`)
    const missing = (tool.inputSchema.required ?? []).filter((name) => given[name] === undefined)
    if (missing.length > 0) return toolError(`The argument ${missing.join(', ')} is missing.`)
    if (method !== 'GET' && !route.isPublic && !this.#hasCredentials()) return toolError(noCredentials)
    const { body, ifMatch, idempotencyKey } = given
    const key = known.includes('idempotencyKey')
      ? String(idempotencyKey ?? keyOf(once, route, given))
      : undefined
    const headers = {
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(ifMatch !== undefined && { 'if-match': String(ifMatch) }),
    }
    return resultOf(await this.#send(method, pathOf(route, given), headers, body), key)
  }

  #hasCredentials(): boolean {
    const { headers } = this.#request
    return headers.authorization !== undefined || headers['guest-token'] !== undefined
  }

  async #send(method: string, path: string, headers: Record<string, string>, body?: unknown) {
    if (DOTS.test(path))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `No part of ${path} may be . or ..`)
    const passed = Object.entries(this.#request.headers).filter(([name]) => PASSED_ON.includes(name))
    return this.#app.inject({
      method: method as 'GET',
      url: this.#app.prefix + path,
      remoteAddress: this.#request.socket.remoteAddress ?? '',
      headers: {
        accept: 'application/json',
        ...Object.fromEntries(passed),
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
  }
}

const noCredentials =
  'This changes something, so it needs credentials: send a token in the header Authorization, or a guest token (POST /guest) in the header Guest-Token. "app mcp" prints a configuration with a token.'

/** The same for a call that its client sends again, and another one for every other call. */
function keyOf(once: string | undefined, { tool }: RouteTool, given: unknown): string {
  if (once === undefined) return randomUUID()
  return createHash('sha256')
    .update(JSON.stringify([once, tool.name, given]))
    .digest('hex')
}

function pathOf({ path, query: names }: RouteTool, given: Readonly<Record<string, unknown>>): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(given[name])))
  const query = new URLSearchParams()
  for (const name of names) {
    const value = given[name]
    if (value !== undefined)
      query.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
  }
  return query.size === 0 ? filled : `${filled}?${query}`
}

/** The result of a response: its JSON, as text too, for clients without structured content. */
function resultOf(
  { statusCode, body, headers }: LightMyRequestResponse,
  key: string | undefined,
): CallToolResult {
  if (statusCode >= 400) {
    const again =
      key !== undefined && (statusCode >= 500 || statusCode === 409)
        ? `\nIf you repeat this call, send idempotencyKey ${key}: it then takes effect once.`
        : ''
    return toolError(body + again)
  }
  const { etag } = headers
  return {
    content: [{ type: 'text', text: body }],
    structuredContent: JSON.parse(body),
    ...(typeof etag === 'string' && { _meta: { etag } }),
  }
}

const toolError = (text: string): CallToolResult => ({ content: [{ type: 'text', text }], isError: true })
