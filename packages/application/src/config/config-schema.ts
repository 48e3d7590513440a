import { type TProperties, Type } from '@sinclair/typebox'
import { optionalText, RemoteIssuer } from './token-issuer.ts'

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

const group = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false, default: {} })

const limit = (byDefault: number, description: string, minimum = 1) =>
  Type.Integer({ minimum, default: byDefault, description })

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
    publicUrl: optionalText('origin', 'the public origin: "https://shop.example"'),
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
    storage: group({
      minFreeBytes: Type.Optional(
        Type.Integer({
          minimum: 0,
          description:
            'writes are refused while the disk of the SQLite file has less free space; default: 64 MiB, or 5 % of a smaller volume; 0: until the disk is full',
        }),
      ),
    }),
    server: group({
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
      maxConnections: limit(2000, 'connections of one process at most'),
      maxConnectionsPerAddress: limit(
        200,
        'connections of one address (IPv6: /64) at most; concurrent requests if the address is behind a proxy in trustProxy; 0: no limit',
        0,
      ),
      maxRequests: limit(1000, 'concurrent requests of one process; others wait for at most a second'),
      maxRequestsPerModule: Type.Optional(
        Type.Integer({
          minimum: 1,
          description:
            'how many of them the routes of one module may have; further ones wait for at most a second; default: three quarters',
        }),
      ),
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
    }),
    host: group({
      blockedSeconds: limit(
        5,
        'seconds for which code of a module may block the process before the host ends and starts again; 0: for ever',
        0,
      ),
      quarantineAfter: limit(
        2,
        'how often a module may end the host in `quarantineMinutes` before it is in quarantine; 0: any number of times',
        0,
      ),
      maxSocketsPerModule: limit(1000, 'open connections that one module may have made; further ones fail'),
      quarantineMinutes: limit(10, 'the time in which these ends are counted'),
    }),
    auth: group({
      issuer: optionalText(
        'no-blanks',
        "the `iss` of the application's own tokens; made by `app init`, unique",
      ),
      issuers: Type.Array(RemoteIssuer, {
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
    }),
    cors: group({
      origins: Type.Array(Type.String({ format: 'origin' }), {
        default: [],
        examples: [['https://shop.example']],
        description: 'empty: CORS is off',
      }),
    }),
    metrics: group({
      allow: Type.Array(Type.String({ format: 'cidr' }), {
        default: ['127.0.0.0/8', '::1'],
        examples: [['10.0.0.0/8']],
        description:
          'addresses or CIDR ranges that may read /metrics without a token: of connections, not of X-Forwarded-For',
      }),
    }),
    rateLimit: group({
      max: limit(1200, 'requests per minute of one caller; 0: no rate limits at all', 0),
      maxPerAddress: limit(3000, 'requests per minute of one address (IPv6: /64), with all its callers'),
      maxNewGuests: limit(60, 'new guests per minute of one address'),
      maxBytes: limit(4 * 1024 * 1024, 'body bytes per minute of one caller'),
      maxBytesPerAddress: limit(
        10 * 1024 * 1024,
        'body bytes per minute of one address, with all its callers',
      ),
    }),
    log: group({
      level: Type.Unsafe<(typeof levels)[number]>({
        type: 'string',
        enum: levels,
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
    }),
    telemetry: group({
      endpoint: optionalText(
        'collector',
        'the OTLP/HTTP collector for traces, such as http://127.0.0.1:4318',
      ),
    }),
    events: group({
      retentionDays: Type.Integer({
        minimum: 1,
        maximum: 3650,
        default: 30,
        description: 'days for which events are kept for readers and event handlers',
      }),
    }),
    install: group({
      minAgeHours: Type.Integer({
        minimum: 0,
        maximum: 8760,
        default: 72,
        description:
          'hours since its publication before a package from a registry is installed, dependencies included; 0: at once',
      }),
    }),
    backup: group({
      every: optionalText(
        'interval',
        'how often the running host backs up: "6h"; read while it runs, as "to" and "keep"',
      ),
      to: Type.Optional(
        Type.String({
          minLength: 1,
          examples: ['/var/backups/shop'],
          description: 'the folder of these backups, which must exist; relative to the application folder',
        }),
      ),
      keep: limit(28, 'how many of these backups are kept'),
    }),
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
