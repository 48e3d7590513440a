import { Type } from '@sinclair/typebox'

const Algorithm = Type.Union([Type.Literal('RS256'), Type.Literal('ES256')])
const settings = { additionalProperties: false, default: {} }

const Issuer = Type.Object(
  {
    issuer: Type.String({ minLength: 1, pattern: '^\\S+$', description: 'the exact `iss` of its tokens' }),
    jwksUri: Type.String({ format: 'jwks-uri', description: 'where its keys are: https (http on loopback)' }),
    audience: Type.String({ minLength: 1, description: 'the `aud` that its tokens for us carry' }),
    algorithms: Type.Array(Algorithm, { minItems: 1, uniqueItems: true, default: ['RS256'] }),
  },
  { additionalProperties: false },
)

/** app.config.json. Defaults are filled in; unknown keys are refused. */
export const configSchema = Type.Object(
  {
    $schema: Type.Optional(Type.String()),
    name: Type.String({ minLength: 1, maxLength: 100, default: 'Mortise application' }),
    version: Type.String({ default: '1.0.0', description: 'of your API; shown at `/` and in OpenAPI' }),
    basePath: Type.String({
      pattern: '^(/[A-Za-z0-9._~-]+)*$',
      default: '',
      description: 'put in front of every path, such as "/api"',
    }),
    publicUrl: Type.Optional(
      Type.String({ format: 'origin', description: 'the origin that callers use: "https://shop.example"' }),
    ),
    database: Type.String({
      minLength: 1,
      default: 'data/app.db',
      description: 'the SQLite file, relative to the application folder',
    }),
    server: Type.Object(
      {
        host: Type.String({ minLength: 1, default: '127.0.0.1' }),
        port: Type.Integer({ minimum: 0, maximum: 65_535, default: 3000 }),
        maxConnections: Type.Integer({ minimum: 1, default: 2000 }),
        trustProxy: Type.Array(Type.String({ format: 'cidr' }), {
          default: [],
          description: 'proxies whose X-Forwarded-For is believed: addresses or CIDR ranges',
        }),
      },
      settings,
    ),
    auth: Type.Object(
      {
        issuer: Type.Optional(
          Type.String({
            minLength: 1,
            pattern: '^\\S+$',
            description: "the `iss` of the application's own tokens; made by `app init`, unique",
          }),
        ),
        issuers: Type.Array(Issuer, { default: [], description: 'others whose JWTs are accepted' }),
      },
      settings,
    ),
    cors: Type.Object(
      {
        origins: Type.Array(Type.String({ format: 'origin' }), {
          default: [],
          description: 'empty: CORS is off',
        }),
      },
      settings,
    ),
    rateLimit: Type.Object(
      { max: Type.Literal(0, { default: 0, description: '0 is off; this version has no limits yet' }) },
      settings,
    ),
    log: Type.Object(
      {
        level: Type.Union(
          ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) => Type.Literal(level)),
          { default: 'info' },
        ),
        requests: Type.Boolean({
          default: false,
          description: 'log every request, not only failed and slow ones',
        }),
        slowMs: Type.Integer({ minimum: 1, default: 1000, description: 'a request is slow from here on' }),
      },
      settings,
    ),
    aliases: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: 'bare names for module-install: { "api-review": "@acme/api-review@^2" }',
    }),
    modules: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
      default: {},
      description: 'the settings of each module, by its id',
    }),
  },
  { title: 'Mortise application', additionalProperties: false },
)
