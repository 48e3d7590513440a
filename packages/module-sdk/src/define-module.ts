import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import fp from 'fastify-plugin'
import type { Audit } from './audit.ts'
import type { ContractRegistry } from './contracts.ts'
import type { DefinedEvents, EventData, EventLog, React } from './events.ts'
import type { GuestClaim } from './guest-claim.ts'
import type { Database, Transaction } from './transaction.ts'

/** The Fastify instance of a module: its own encapsulated scope; routes infer their types from TypeBox schemas. */
export type ModuleInstance = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** What the host lends a module: the options of its plugin. */
export interface ModuleContext<Settings = Readonly<Record<string, unknown>>> {
  /** From `modules.<id>` of app.config.json, validated against the module's own schema, defaults filled in. */
  readonly settings: Settings
  readonly log: FastifyBaseLogger
  readonly database: Database
  readonly contracts: ContractRegistry
  /** Puts on record what the module does by itself, with the module as the actor; in a request use `request.audit`. */
  readonly audit: Audit
  /**
   * Has `take` make the user's what was the guest's, in the transaction that retires the guest, or, where the module
   * did not serve then, in one of its own within a minute of serving again. To be called once. What it throws undoes
   * the claim.
   */
  onClaim(take: (claim: GuestClaim) => Transaction<void>): void
  /**
   * Does `work` once a minute for as long as the module serves, on one host at a time: what may come late, such as
   * deleting what has expired. It is one transaction, and a short one: true where there may be more to do, and it
   * runs again at once. A run that fails is logged.
   *
   * @param name tells it from the module's other works
   */
  everyMinute(name: string, work: () => Transaction<boolean>): void
  /** Says which events the module emits: those of the manifest's `events`. To be called once. */
  emits(events: DefinedEvents): void
  /**
   * Has `react` called once for each event of a type of the manifest's `listensTo`, or of every type (`*`), whichever
   * module has emitted it: from when the module is first installed on, and, where it was removed for a while, from where
   * it had ended, as far back as events are kept. Its effect and the mark that it is done are one transaction, so that
   * it takes effect exactly once. The events of one subject come in order. What it throws undoes it; it is called again
   * after a while, longer each time, and at last left to the operator (`app events`). Later events of the
   * same subject wait meanwhile. To be called once for a type.
   */
  on<Type extends string>(type: Type, react: React<EventData<Type>>): void
  /** All events. For a module whose manifest says `"listensTo": ["*"]`. */
  readonly events: EventLog
  /** Whether a module of this generation emits events of a type. Complete once the module serves: ask in a request. */
  readonly eventTypes: { has(type: string): boolean }
  /**
   * Aborted when another generation has taken over, or the host is about to end: end what would go on for long, such as
   * a stream; what was begun is waited for. Nothing else needs to look at it.
   */
  readonly retiring: AbortSignal
}

export type ModulePlugin<Settings = Readonly<Record<string, unknown>>> = (
  app: ModuleInstance,
  context: ModuleContext<Settings>,
) => Promise<void>

/**
 * Makes a Fastify plugin a Mortise module: the default export of its package. The plugin is encapsulated:
 * its hooks, decorators and parsers are its own.
 *
 * @param id the `id` of the manifest in package.json
 */
export function defineModule<Settings = Readonly<Record<string, unknown>>>(
  id: string,
  plugin: ModulePlugin<Settings>,
): ModulePlugin {
  return fp(plugin as never, { name: id, fastify: '5.x', encapsulate: true }) as ModulePlugin
}
