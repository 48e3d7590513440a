import { type SchemaOptions, Type } from '@sinclair/typebox'
import { signingAlgorithms } from './token-issuer.ts'

const oneOf = <const Value extends string>(values: readonly Value[], options: SchemaOptions = {}) =>
  Type.Unsafe<Value>({ type: 'string', enum: values, ...options })

const settings = { additionalProperties: false, default: {} }

const Issuer = Type.Object(
  {
    issuer: Type.String({ format: 'no-blanks', description: 'the exact `iss` of its tokens' }),
    jwksUri: Type.Optional(
      Type.String({
        format: 'jwks-uri',
        description:
          'where its keys are: https (http on loopback); without it, its OpenID configuration is asked',
      }),
    ),
    audience: Type.String({ minLength: 1, description: 'the `aud` that its tokens for us carry' }),
    algorithms: Type.Array(oneOf(signingAlgorithms), {
      minItems: 1,
      uniqueItems: true,
      default: ['RS256'],
      examples: [['ES256']],
    }),
    typ: Type.Optional(
      Type.String({ format: 'no-blanks', description: 'the only `typ` that its tokens may have: "at+jwt"' }),
    ),
    claims: Type.Optional(
      Type.Object(
        {
          subject: Type.Optional(
            Type.String({ format: 'claim', description: 'who it is, instead of `sub`' }),
          ),
          scope: Type.Optional(
            Type.String({ format: 'claim', description: 'the values that "scopes" translates' }),
          ),
        },
        { additionalProperties: false },
      ),
    ),
    scopes: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Array(Type.String({ format: 'scope' }), { examples: [['purchase:read']] }),
        {
          description: 'our scopes for each value of the issuer; other values give none',
          examples: [{ 'shop-staff': ['purchase:read'] }],
        },
      ),
    ),
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
      format: 'base-path',
      default: '',
      description: 'put in front of every path, such as "/api"',
    }),
    publicUrl: Type.Optional(
      Type.String({ format: 'origin', description: 'the origin that callers use: "https://shop.example"' }),
    ),
    database: Type.String({
      minLength: 1,
      default: 'data/app.db',
      format: 'database',
      description:
        'the SQLite file, relative to the application folder; or postgres://user:password@host/database, then better in APP_DATABASE',
    }),
    envFile: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'a file of variables (NAME=value) for the host and for every command, relative to the application folder: "/etc/mortise/shop.env"',
      }),
    ),
    storage: Type.Object(
      {
        minFreeBytes: Type.Optional(
          Type.Integer({
            minimum: 0,
            description:
              'writes are refused while the disk of the SQLite file has less room; without: 64 MiB, or 5 % of a smaller volume; 0: until it is full',
          }),
        ),
      },
      settings,
    ),
    server: Type.Object(
      {
        host: Type.String({ minLength: 1, default: '127.0.0.1' }),
        port: Type.Integer({ minimum: 0, maximum: 65_535, default: 3000 }),
        maxConnections: Type.Integer({ minimum: 1, default: 2000 }),
        maxConnectionsPerAddress: Type.Integer({
          minimum: 0,
          default: 200,
          description:
            'how many of them one address (IPv6: /64) has; of one behind a proxy in trustProxy, how many requests at once; 0: any number',
        }),
        maxRequests: Type.Integer({
          minimum: 1,
          default: 1000,
          description: 'how many requests a process works on at once; others wait, for a second at most',
        }),
        drainSeconds: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 3600,
            description:
              'how long a host that stops still takes requests, while /health/ready answers 503; 5 by default, 0 on a terminal',
          }),
        ),
        trustProxy: Type.Array(Type.String({ format: 'cidr' }), {
          default: [],
          examples: [['10.0.0.0/8']],
          description: 'proxies whose X-Forwarded-For is believed: addresses or CIDR ranges',
        }),
      },
      settings,
    ),
    auth: Type.Object(
      {
        issuer: Type.Optional(
          Type.String({
            format: 'no-blanks',
            description: "the `iss` of the application's own tokens; made by `app init`, unique",
          }),
        ),
        issuers: Type.Array(Issuer, {
          default: [],
          examples: [
            [
              {
                issuer: 'https://login.example/',
                jwksUri: 'https://login.example/.well-known/jwks.json',
                audience: 'shop',
              },
            ],
          ],
          description: 'others whose JWTs are accepted',
        }),
      },
      settings,
    ),
    cors: Type.Object(
      {
        origins: Type.Array(Type.String({ format: 'origin' }), {
          default: [],
          examples: [['https://shop.example']],
          description: 'empty: CORS is off',
        }),
      },
      settings,
    ),
    metrics: Type.Object(
      {
        allow: Type.Array(Type.String({ format: 'cidr' }), {
          default: ['127.0.0.0/8', '::1'],
          examples: [['10.0.0.0/8']],
          description:
            'who may read /metrics without a token: addresses or CIDR ranges of connections, not of X-Forwarded-For',
        }),
      },
      settings,
    ),
    rateLimit: Type.Object(
      {
        max: Type.Integer({
          minimum: 0,
          default: 1200,
          description: 'requests that one caller may send in a minute; 0: there are no limits at all',
        }),
        maxPerAddress: Type.Integer({
          minimum: 1,
          default: 3000,
          description: 'requests that may come from one address (IPv6: /64) in a minute, whoever calls',
        }),
        maxNewGuests: Type.Integer({
          minimum: 1,
          default: 60,
          description: 'new guests that may come from one address in a minute',
        }),
        maxBytes: Type.Integer({
          minimum: 1,
          default: 4 * 1024 * 1024,
          description: 'bytes of bodies that one caller may send in a minute',
        }),
        maxBytesPerAddress: Type.Integer({
          minimum: 1,
          default: 10 * 1024 * 1024,
          description: 'bytes of bodies that may come from one address in a minute, whoever calls',
        }),
      },
      settings,
    ),
    log: Type.Object(
      {
        level: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], { default: 'info' }),
        requests: Type.Boolean({
          default: false,
          description: 'log every request, not only failed and slow ones',
        }),
        slowMs: Type.Integer({ minimum: 1, default: 1000, description: 'a request is slow from here on' }),
      },
      settings,
    ),
    telemetry: Type.Object(
      {
        endpoint: Type.Optional(
          Type.String({
            format: 'collector',
            description: 'the OTLP/HTTP collector that is sent traces, such as http://127.0.0.1:4318',
          }),
        ),
      },
      settings,
    ),
    events: Type.Object(
      {
        retentionDays: Type.Integer({
          minimum: 1,
          maximum: 3650,
          default: 30,
          description: 'for how long events are kept, for whoever reads or reacts to them later',
        }),
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
