import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { Static, TObject } from '@sinclair/typebox'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import fp from 'fastify-plugin'
import type { Audit } from './audit.ts'
import { commonProblems } from './common-problems.ts'
import type { ContractRegistry } from './contracts.ts'
import type { EventLog, React } from './events.ts'
import type { GuestClaim } from './guest-claim.ts'
import type { Operator } from './operator.ts'
import { defineProblems, type ProblemDefinition, type Problems } from './problem.ts'
import {
  type Database,
  defineEvents,
  type Emit,
  type EventData,
  type EventSchemas,
  type KnownEvents,
  type Transaction,
} from './transaction.ts'
import type { Perform, Work, WorkOptions } from './work.ts'

/**
 * The Fastify instance of a module: an encapsulated scope. Routes infer their types from TypeBox
 * schemas.
 */
export type ModuleInstance = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** The options of a module's plugin: what the host provides. */
export interface ModuleContext<Settings = Readonly<Record<string, unknown>>> {
  /**
   * `modules.<id>` of app.config.json, checked against the module's settings schema, with defaults.
   */
  readonly settings: Settings
  readonly log: FastifyBaseLogger
  readonly database: Database
  readonly contracts: ContractRegistry
  /**
   * Records what the module does on its own, with the module as the actor. In a request use
   * `request.audit`.
   */
  readonly audit: Audit
  /**
   * Whether this host still trusts what verified a token: the secret or the issuer's key, and the
   * issuer as it was configured. Store `proof` of the caller with what outlives the token, such as a
   * session or a subscription, and ask at every use: an operator may have replaced a secret that
   * leaked, or removed the issuer.
   * @throws {Problem} 503 if the issuer's keys are unavailable
   */
  trusts(proof: string): Promise<boolean>
  /**
   * Registers the handler that transfers a guest's data to the user. It runs in the transaction
   * that retires the guest. If the module did not serve at that time, it runs in its own
   * transaction within a minute after the module serves again. Call this once. An error from the
   * handler rolls the claim back.
   */
  onClaim(take: (claim: GuestClaim) => Transaction<void>): void
  /**
   * Runs `work` once a minute while the module serves, on one host at a time. Use it for work that
   * may be late, such as deleting expired rows. Each run is one short transaction. Return true if
   * there may be more to do: `work` then runs again at once. The host logs a run that fails. After
   * a gap of more than an hour it waits 15 minutes, because the clock may be wrong.
   * @param name distinguishes this work from the module's other works
   */
  everyMinute(name: string, work: () => Transaction<boolean>): void
  /**
   * Registers work outside of transactions: mail, calls to other systems, long imports. `add` of the
   * result stores a job in the transaction of the change that asks for it. While the module serves,
   * one of all hosts does the job. If it rejects or times out, the host retries with growing delays,
   * and finally leaves it to the operator (`app work`).
   *
   * A job happens at least once. It happens again, with the same id, if a host dies after the effect
   * and before the job's end is stored, or does not reach the database for ten seconds: then another
   * host takes the job over, perhaps while the first is still at work.
   * @param name distinguishes this work from the module's other works; jobs are stored with it
   */
  work<Data = unknown>(name: string, options: WorkOptions<Data>, perform: Perform<Data>): Work<Data>
  /**
   * Registers an event handler. It runs once for each event of a type in the manifest's
   * `listensTo`, or of every type (`*`), from any module. It starts with the events after the first
   * installation. After a removal and a new installation it continues at its old cursor, as far
   * back as events are kept.
   *
   * The effect of the handler and its cursor are one transaction, so each event takes effect
   * exactly once. Events of one subject arrive in order. An error rolls the transaction back. The
   * host then retries with growing delays, and finally leaves a dead letter to the operator (`app
   * events`). Later events of that subject wait. Call this once per type.
   */
  on<Type extends string>(type: Type, react: React<EventData<Type>>): void
  /** All events, for a module with `"listensTo": ["*"]` in its manifest. */
  readonly events: EventLog
  /** The application, for the one module with `"operator": true` in its manifest. */
  readonly operator: Operator
  /**
   * Whether a module of this generation emits events of a type. It is complete only when the module
   * serves, so call it in a request.
   */
  readonly eventTypes: { has(type: string): boolean }
  /**
   * Aborted when another generation takes over or the host stops. End long-lived work then, such as
   * a stream; the host waits for requests in progress. Other code can ignore it.
   */
  readonly retiring: AbortSignal
  /**
   * False while the operator has paused the module: its routes are not called, and what this context
   * registers waits. Start no other background work then. Other modules may call its contracts.
   */
  readonly isServing: boolean
}

/** A Fastify plugin that the host gives a context: the default export of a module. */
export type ModulePlugin<Settings = Readonly<Record<string, unknown>>> = (
  app: ModuleInstance,
  context: ModuleContext<Settings>,
) => Promise<void>

/**
 * What a module declares besides its routes. `app module-manifest` writes the public part to
 * package.json.
 */
export interface Declaration<
  Settings extends TObject = TObject,
  Events extends EventSchemas = EventSchemas,
  Code extends string = string,
> {
  /**
   * The operator's settings: a `Strict` object, with a `default` for each property that has a
   * sensible one.
   */
  readonly settings?: Settings
  /** The data schema of each event that the module emits, by type: `<thing>.<what-happened>`. */
  readonly events?: Events & KnownEvents<Events>
  /** The failures that callers see, by code. Codes are kebab-case; never reuse a retired code. */
  readonly problems?: Readonly<Record<Code, ProblemDefinition>>
}

/** What `defineModule` makes of a declaration. */
export interface Module<Settings extends TObject, Events extends EventSchemas, Code extends string> {
  /**
   * Makes a problem to throw. Without a `detail` in the declaration, pass one: what happened and
   * what to do.
   */
  readonly problem: Problems<Code>['create']
  /**
   * Response schemas by status, for a route's `schema.response`. It accepts the common problems
   * too.
   */
  readonly responses: Problems<Code | keyof typeof commonProblems.definitions>['responses']
  /** A step of a transaction: the event is written if and only if the transaction commits. */
  readonly emit: Emit<Events>
  /**
   * Makes the package's default export: a Fastify plugin with its own hooks, decorators and
   * parsers.
   */
  plugin(plugin: ModulePlugin<Static<Settings>>): ModulePlugin
}

/**
 * Declares a module. Its package exports `plugin(…)` as default.
 * @param id the module's name for installation and configuration: lower case, digits, hyphens
 */
export function defineModule<
  Settings extends TObject = TObject,
  const Events extends EventSchemas = EventSchemas,
  Code extends string = never,
>(id: string, declaration: Declaration<Settings, Events, Code> = {}): Module<Settings, Events, Code> {
  const definitions = declaration.problems ?? ({} as Record<Code, ProblemDefinition>)
  const all = { ...commonProblems.definitions, ...definitions }
  return {
    problem: defineProblems(id, definitions).create,
    responses: defineProblems(id, all).responses,
    emit: defineEvents<Events>(id, (declaration.events ?? {}) as Events & KnownEvents<Events>),
    plugin: (plugin) =>
      Object.assign(fp(plugin as never, { name: id, fastify: '5.x', encapsulate: true }), {
        [kDeclared]: { id, ...declaration },
      }) as unknown as ModulePlugin,
  }
}

/** `Symbol.for`, because a host can load several copies of the SDK. */
const kDeclared = Symbol.for('mortise.module')

/** The declaration behind a default export. Undefined if `defineModule` did not make the plugin. */
export function declarationOf(plugin: unknown): (Declaration & { readonly id: string }) | undefined {
  return (plugin as { readonly [kDeclared]?: Declaration & { readonly id: string } })[kDeclared]
}
