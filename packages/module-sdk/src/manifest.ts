import { type Static, Type } from '@sinclair/typebox'

// The plan shows all of it, so each part has a limit.
const Range = Type.String({ minLength: 1, maxLength: 200, description: 'a semver range' })
const EventType = '^[a-z][a-z0-9-]*(\\.[a-z][a-z0-9-]*)+$'
const ContractName = '^[a-z][a-z0-9-]{0,63}$'

/**
 * The `"mortise"` object of a module's package.json: what the module declares, readable without
 * running its code. A probe checks it before the host activates the module.
 */
export const Manifest = Type.Object(
  {
    id: Type.String({
      pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$',
      maxLength: 64,
      description: 'the id of the module in commands and settings',
    }),
    host: Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'the semver range of compatible hosts, such as "^1.0.0"',
    }),
    routes: Type.Array(
      Type.String({
        pattern:
          '^(GET|POST|PUT|PATCH|DELETE) /(\\.well-known/|(?!\\.well-known(/|$)))[A-Za-z0-9._~-]+(/[^\\s?#]*)?$',
        maxLength: 250,
        examples: ['GET /cart', 'DELETE /cart/item/:id'],
      }),
      {
        uniqueItems: true,
        maxItems: 500,
        description:
          'every route it registers (GET includes HEAD); it owns the first segments (the first two below /.well-known), which must not have a parameter or wildcard',
      },
    ),
    tables: Type.Optional(
      Type.String({
        pattern: '^[a-z][a-z0-9_]*$',
        maxLength: 48,
        description: 'the prefix of its tables: "cart" (or "cart_") owns cart and cart_*',
      }),
    ),
    migrations: Type.Optional(
      Type.String({ maxLength: 250, description: 'the folder of its migrations, relative to package.json' }),
    ),
    config: Type.Optional(
      Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.String({ maxLength: 250 })], {
        description: 'the JSON Schema of its settings, or a file with it relative to package.json',
      }),
    ),
    provides: Type.Optional(
      Type.Record(Type.String({ pattern: ContractName }), Type.String({ maxLength: 64 }), {
        maxProperties: 100,
        description: 'contracts it provides: name to version',
      }),
    ),
    requires: Type.Optional(
      Type.Record(Type.String({ pattern: ContractName }), Range, {
        maxProperties: 100,
        description: 'contracts it requires: name to range',
      }),
    ),
    optional: Type.Optional(
      Type.Record(Type.String({ pattern: ContractName }), Range, {
        maxProperties: 100,
        description: 'contracts it uses if a module provides them: name to range',
      }),
    ),
    events: Type.Optional(
      Type.Array(Type.String({ pattern: EventType, maxLength: 128 }), {
        uniqueItems: true,
        maxItems: 500,
        description: 'the types of the events it emits: "cart.item-added"',
      }),
    ),
    network: Type.Optional(
      Type.Array(
        Type.String({ pattern: '^[a-z0-9*.-]+(:\\d+)?$', maxLength: 260, examples: ['api.stripe.com'] }),
        {
          uniqueItems: true,
          maxItems: 100,
          description: 'the hosts that it connects to; the plan shows them',
        },
      ),
    ),
    operator: Type.Optional(
      Type.Literal(true, {
        description:
          'it operates the application: it may run commands and call every route as any user; one module at most',
      }),
    ),
    listensTo: Type.Optional(
      Type.Array(Type.Union([Type.Literal('*'), Type.String({ pattern: EventType, maxLength: 128 })]), {
        uniqueItems: true,
        maxItems: 500,
        description: 'the event types it handles, of any module; "*": all, and it may read the event log',
      }),
    ),
  },
  {
    title: 'Mortise module manifest',
    additionalProperties: false,
  },
)
export type Manifest = Static<typeof Manifest>
