import swagger from '@fastify/swagger'
import fp from 'fastify-plugin'
import { describeRoute } from './describe-route.ts'

export interface OpenapiOptions {
  readonly application: { readonly name: string; readonly version: string }
  /** The origin that callers use. */
  readonly publicUrl?: string | undefined
}

/**
 * `GET /openapi.json`: OpenAPI 3.1 of every route registered after it, from the very schemas that validate.
 * What follows from a route's access and schema for every route alike is said by `describeRoute`.
 */
export const openapi = fp<OpenapiOptions>(
  async (app, { application, publicUrl }) => {
    const { prefix } = app
    await app.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: { title: application.name, version: application.version },
        servers: [{ url: `${publicUrl ?? ''}${prefix}` || '/' }],
        components: { securitySchemes: securitySchemes(publicUrl) },
      },
      refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `schema-${i}`) },
      convertConstToEnum: false,
      stripBasePath: false,
      transform: ({ schema, url, route }) => ({
        url: url.slice(prefix.length) || '/',
        schema: describeRoute(schema, route, prefix),
      }),
    })

    let document: Buffer | undefined
    app.get(
      '/openapi.json',
      { config: { access: 'public' }, schema: { hide: true } },
      async (_request, reply) => {
        document ??= Buffer.from(JSON.stringify(app.swagger()))
        reply.type('application/json; charset=utf-8')
        return document
      },
    )
  },
  { name: 'openapi', fastify: '5.x', dependencies: ['problem-details'] },
)

function securitySchemes(publicUrl: string | undefined) {
  const cookie = publicUrl?.startsWith('https:') ? '__Host-guest' : 'guest'
  return {
    bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    guestToken: { type: 'apiKey', in: 'header', name: 'Guest-Token' },
    guestCookie: { type: 'apiKey', in: 'cookie', name: cookie },
  } as const
}
