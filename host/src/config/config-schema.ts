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
          'the URL of its keys: https (http on loopback); by default from its OpenID configuration',
      }),
    ),
    audience: Type.String({ minLength: 1, description: 'the `aud` of its tokens for this application' }),
    algorithms: Type.Array(oneOf(signingAlgorithms), {
      minItems: 1,
      uniqueItems: true,
      default: ['RS256'],
      description: 'its signing algorithms; no other is accepted',
      examples: [['ES256']],
    }),
    typ: Type.Optional(
      Type.String({ format: 'no-blanks', description: 'the only allowed `typ` of its tokens: "at+jwt"' }),
    ),
    claims: Type.Optional(
      Type.Object(
        {
          subject: Type.Optional(
            Type.String({ format: 'claim', description: 'the claim with the subject, instead of `sub`' }),
          ),
          scope: Type.Optional(
            Type.String({ format: 'claim', description: 'the claim with the values that "scopes" maps' }),
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
          description: 'maps each value of the issuer to scopes; other values give none',
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
    name: Type.String({
      minLength: 1,
      maxLength: 100,
      default: 'Mortise application',
      description: 'shown at `/`, in OpenAPI and on `/docs`',
    }),
    version: Type.String({
      default: '1.0.0',
      description: 'the version of your API; shown at `/` and in OpenAPI',
    }),
    basePath: Type.String({
      format: 'base-path',
      default: '',
      description: 'the prefix of every path, such as "/api"',
    }),
    publicUrl: Type.Optional(
      Type.String({ format: 'origin', description: 'the public origin: "https://shop.example"' }),
    ),
    database: Type.String({
      minLength: 1,
      default: 'data/app.db',
      format: 'database',
      description:
        'the SQLite file, relative to the application folder; or postgres://user:password@host/database, preferably in APP_DATABASE',
    }),
    envFile: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'a file of variables (NAME=value) for the host and every command, relative to the application folder',
      }),
    ),
    storage: Type.Object(
      {
        minFreeBytes: Type.Optional(
          Type.Integer({
            minimum: 0,
            description:
              'writes are refused while the disk of the SQLite file has less free space; default: 64 MiB, or 5 % of a smaller volume; 0: until the disk is full',
          }),
        ),
      },
      settings,
    ),
    server: Type.Object(
      {
        host: Type.String({
          minLength: 1,
          default: '127.0.0.1',
          description: 'the address to listen on; 0.0.0.0 or :: for all',
        }),
        port: Type.Integer({
          minimum: 0,
          maximum: 65_535,
          default: 3000,
          description: 'the port to listen on; 0: any free one',
        }),
        maxConnections: Type.Integer({
          minimum: 1,
          default: 2000,
          description: 'connections of one process at most',
        }),
        maxConnectionsPerAddress: Type.Integer({
          minimum: 0,
          default: 200,
          description:
            'connections of one address (IPv6: /64) at most; concurrent requests if the address is behind a proxy in trustProxy; 0: no limit',
        }),
        maxRequests: Type.Integer({
          minimum: 1,
          default: 1000,
          description: 'concurrent requests of one process; others wait for at most a second',
        }),
        drainSeconds: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 3600,
            description:
              'seconds for which a stopping host still serves, while /health/ready is 503; default: 5, on a terminal 0',
          }),
        ),
        trustProxy: Type.Array(Type.String({ format: 'cidr' }), {
          default: [],
          examples: [['10.0.0.0/8']],
          description: 'proxies whose X-Forwarded-For is trusted: addresses or CIDR ranges',
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
          description: 'other issuers whose JWTs are accepted',
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
            'addresses or CIDR ranges that may read /metrics without a token: of connections, not of X-Forwarded-For',
        }),
      },
      settings,
    ),
    rateLimit: Type.Object(
      {
        max: Type.Integer({
          minimum: 0,
          default: 1200,
          description: 'requests per minute of one caller; 0: no rate limits at all',
        }),
        maxPerAddress: Type.Integer({
          minimum: 1,
          default: 3000,
          description: 'requests per minute of one address (IPv6: /64), with all its callers',
        }),
        maxNewGuests: Type.Integer({
          minimum: 1,
          default: 60,
          description: 'new guests per minute of one address',
        }),
        maxBytes: Type.Integer({
          minimum: 1,
          default: 4 * 1024 * 1024,
          description: 'body bytes per minute of one caller',
        }),
        maxBytesPerAddress: Type.Integer({
          minimum: 1,
          default: 10 * 1024 * 1024,
          description: 'body bytes per minute of one address, with all its callers',
        }),
      },
      settings,
    ),
    log: Type.Object(
      {
        level: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
          default: 'info',
          description: 'the least severe lines that are logged',
        }),
        requests: Type.Boolean({
          default: false,
          description: 'log all requests, not only failed and slow ones',
        }),
        slowMs: Type.Integer({
          minimum: 1,
          default: 1000,
          description: 'milliseconds from which on a request is slow',
        }),
      },
      settings,
    ),
    telemetry: Type.Object(
      {
        endpoint: Type.Optional(
          Type.String({
            format: 'collector',
            description: 'the OTLP/HTTP collector for traces, such as http://127.0.0.1:4318',
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
          description: 'days for which events are kept for readers and event handlers',
        }),
      },
      settings,
    ),
    aliases: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: 'short names for module-install: { "api-review": "@acme/api-review@^2" }',
    }),
    modules: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
      default: {},
      description: 'the settings of each module, by its id',
    }),
  },
  { title: 'Mortise application', additionalProperties: false },
)
