import { createHash, randomUUID } from 'node:crypto'
import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { callFor, type ModuleInstance, Problem } from '@mortise/module-sdk'
import type { FastifyRequest, LightMyRequestResponse } from 'fastify'
import { filledPath } from './route-path.ts'
import { isPublic, type RouteTool } from './tools.ts'

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
    for (const name of known)
      if (
        name !== 'body' &&
        given[name] !== undefined &&
        !isOfType(given[name], tool.inputSchema.properties?.[name])
      )
        return toolError(`The argument ${name} has another type than its schema says.`)
    if (method !== 'GET' && !isPublic(route) && !this.#hasCredentials()) return toolError(noCredentials)
    const { body, ifMatch, idempotencyKey } = given
    const key = known.includes('idempotencyKey')
      ? String(idempotencyKey ?? keyOf(once, route, given))
      : undefined
    const headers = {
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(ifMatch !== undefined && { 'if-match': String(ifMatch) }),
    }
    const path = filledPath(route.path, given) + queryOf(route, given)
    return resultOf(await this.#send(method, path, headers, body), key)
  }

  #hasCredentials(): boolean {
    const { headers } = this.#request
    return headers.authorization !== undefined || headers['guest-token'] !== undefined
  }

  async #send(method: string, path: string, headers: Record<string, string>, body?: unknown) {
    const call = this.#callFor({
      method,
      path,
      headers: {
        accept: 'application/json',
        ...headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
    })
    return this.#app.inject({
      method: method as 'GET',
      url: this.#app.prefix + call.path,
      remoteAddress: call.remoteAddress ?? '',
      headers: call.headers,
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })
  }

  #callFor(call: Parameters<typeof callFor>[1]) {
    try {
      return callFor(this.#request, call)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `${call.path} is not taken: no part of it may be . or ..`,
      )
    }
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

/** The host checks the text of an argument, and cannot know what it was before. */
function isOfType(value: unknown, schema: unknown): boolean {
  const { type } = Object(schema) as { readonly type?: string | readonly string[] }
  const own = Number.isInteger(value) ? ['integer', 'number'] : [typeof value]
  const isPlain = typeof value !== 'object'
  return isPlain && (type === undefined || [type].flat().some((one) => own.includes(String(one))))
}

function queryOf({ query: names }: RouteTool, given: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams()
  for (const name of names) if (given[name] !== undefined) query.append(name, String(given[name]))
  return query.size === 0 ? '' : `?${query}`
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
