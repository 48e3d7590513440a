import fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import { madeOnce } from '../http/made-once.ts'
import { StaticContent } from '../http/static-content.ts'
import type { EventType } from '../modules/event-types.ts'
import { describeEvents } from './describe-events.ts'
import { describeForms } from './describe-forms.ts'
import { describeHeaders } from './describe-headers.ts'
import { describeRoute, hostTag } from './describe-route.ts'
import { nameSchemas } from './name-schemas.ts'
import { type OpenapiDocument, type Operation, operationsOf } from './openapi-document.ts'

export interface OpenapiOptions {
  readonly application: { readonly name: string; readonly version: string }
  /** The origin that callers use. */
  readonly publicUrl?: string | undefined
  /** The event types of the modules, complete once all are registered. */
  readonly eventTypes: Iterable<EventType>
}

/** OpenAPI 3.1 of every route registered after it, from the same schemas that validate. */
export const openapi = fp<OpenapiOptions>(async (app, { application, publicUrl, eventTypes }) => {
  const { prefix } = app
  const routes: RouteOptions[] = []
  const scopes: FastifyInstance[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  app.addHook('onRegister', (scope) => void scopes.push(scope))

  /** Its libraries are loaded for the first request: few processes get one. */
  async function generate(): Promise<unknown> {
    const { default: swagger } = await import('@fastify/swagger')
    const described = fastify({ exposeHeadRoutes: false, schemaController })
    await described.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: { title: application.name, version: application.version, description },
        servers: [{ url: `${publicUrl ?? ''}${prefix}` || '/' }],
        components: { securitySchemes: securitySchemes(publicUrl) },
      },
      refResolver: {
        buildLocalReference: ({ $id }, _base, _fragment, i) => componentName($id, i),
      },
      convertConstToEnum: false,
      stripBasePath: false,
      transform: ({ schema, url, route }) => ({
        url: url.slice(prefix.length) || '/',
        schema: describeRoute(schema, route, prefix),
      }),
    })
    const shared = Object.assign({}, ...[...scopes, app].map((scope) => scope.getSchemas()))
    for (const schema of Object.values(shared)) described.addSchema(schema)
    for (const route of routes)
      if (route.method !== 'HEAD') described.route({ ...route, handler: async () => {} })
    await described.ready()
    return described.swagger()
  }

  const document = madeOnce(async () => {
    const bytes = inAscii(completed(await generate(), eventTypes))
    return new StaticContent(bytes, type, { 'cache-control': 'no-cache' })
  })
  app.get('/openapi.json', { config: { access: 'public' }, schema: { hide: true } }, async (request, reply) =>
    (await document()).negotiate(request, reply),
  )
})

/** Compiles nothing: these routes are never called. */
const schemaController = {
  compilersFactory: {
    buildValidator: (() => () => () => true) as never,
    buildSerializer: () => () => JSON.stringify,
  },
}

const type = 'application/json; charset=utf-8'

/** Patterns contain invisible characters; JSON escapes are readable. */
function inAscii(document: OpenapiDocument): Buffer {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return Buffer.from(JSON.stringify(document).replace(/[\x7f-\uffff]/g, escaped))
}

const description =
  `A client can start as a guest: the first successful write returns a \`Guest-Token\` and a cookie with the same token.
Send one of them with later requests. \`POST /guest\` returns a token before the first write. Signed-in clients send
\`Authorization: Bearer <JWT>\` instead. The security of a route shows what it accepts, and the scope that a token needs.

You can repeat a write with the same \`Idempotency-Key\`: it takes effect once, and its response is replayed for a day. A write with an \`ETag\` in
\`If-Match\` fails if the resource has changed; \`If-None-Match\` saves you an unchanged body.

Every failure is \`application/problem+json\` (RFC 9457), the schema \`Problem\`: decide by its \`code\`. The responses of a route name its
codes. A request with a 4xx or 503 response has changed nothing.`.replaceAll(/(?<!\n)\n(?!\n)/g, ' ')

/** The document with the parts that the generator does not know. */
function completed(generated: unknown, eventTypes: Iterable<EventType>): OpenapiDocument {
  const document: OpenapiDocument = JSON.parse(JSON.stringify(generated))
  describeEvents(document, eventTypes)
  describeForms(document)
  describeHeaders(document)
  nameSchemas(document)
  const operations = operationsOf(document).map(([, operation]) => operation)
  document.tags = [...new Set(operations.flatMap(({ tags }) => tags))].map((name) => ({
    name,
    description: name === hostTag ? 'The application' : `The module ${name}`,
  }))
  // If all properties are optional, no body counts as {}.
  for (const { requestBody } of operations)
    if (requestBody && isEmpty(requestBody)) requestBody.required = false
  return document
}

function isEmpty({ content }: NonNullable<Operation['requestBody']>): boolean {
  return Object.values(content).every(
    ({ schema }) => Object.keys(schema?.properties ?? { none: '' }).length === 0,
  )
}

function securitySchemes(publicUrl: string | undefined) {
  const cookie = publicUrl?.startsWith('https:') ? '__Host-guest' : 'guest'
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'For users: a JWT of this application or of a trusted issuer. It overrides a guest token.',
    },
    guestToken: {
      type: 'apiKey',
      in: 'header',
      name: 'Guest-Token',
      description:
        'For guests: the token of `POST /guest`, or of the response to the first write. It overrides the cookie.',
    },
    guestCookie: {
      type: 'apiKey',
      in: 'cookie',
      name: cookie,
      description: 'For guests in a browser: set with every guest token.',
    },
  } as const
}

/** A component has no such name as `https://shop.example/list.json`, and a reference would end in it. */
function componentName(id: unknown, index: number): string {
  const name = String(id ?? 'schema').replace(/[^\w.-]+/g, '-')
  return name === id ? name : `${name}-${index}`
}
