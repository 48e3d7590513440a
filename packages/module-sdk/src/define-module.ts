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
import {
  defineEvents,
  type Emit,
  type EventData,
  type EventLog,
  type EventSchemas,
  type KnownEvents,
  type React,
} from './events.ts'
import type { GuestClaim } from './guest-claim.ts'
import { defineProblems, type ProblemDefinition, type Problems } from './problem.ts'
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
  /** From `modules.<id>` of app.config.json, checked against the schema that the module declares, defaults filled in. */
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

/** What a module says of itself, beside its routes. `app module-manifest` writes what callers and operators see of it into package.json. */
export interface Declaration<
  Settings extends TObject = TObject,
  Events extends EventSchemas = EventSchemas,
  Code extends string = string,
> {
  /** What an operator may set: a `Strict` object, with a `default` wherever there is a sensible one. */
  readonly settings?: Settings
  /** The data of each event that the module emits, by type: `<thing>.<what-happened>`. */
  readonly events?: Events & KnownEvents<Events>
  /** The failures that callers are told about, by code: kebab-case, and never reused once retired. */
  readonly problems?: Readonly<Record<Code, ProblemDefinition>>
}

export interface Module<Settings extends TObject, Events extends EventSchemas, Code extends string> {
  /** Makes a problem to throw. `detail` says what happened this time and what to do, where the declaration has none. */
  readonly problem: Problems<Code>['create']
  /** Response schemas by status, for a route's `schema.response`; also of the problems that all modules share. */
  readonly responses: Problems<Code | keyof typeof commonProblems.definitions>['responses']
  /** A step of a transaction: the event is there exactly if the transaction is committed. */
  readonly emit: Emit<Events>
  /** Makes the default export of the package: a Fastify plugin whose hooks, decorators and parsers are its own. */
  plugin(plugin: ModulePlugin<Static<Settings>>): ModulePlugin
}

/** @param id the name by which the module is installed and configured: lower case, digits, hyphens */
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

/** The same in every copy of the SDK. */
const kDeclared = Symbol.for('mortise.module')

/** What the module of a default export says of itself; undefined for one that `defineModule` has not made. */
export function declarationOf(plugin: unknown): (Declaration & { readonly id: string }) | undefined {
  return (plugin as { readonly [kDeclared]?: Declaration & { readonly id: string } })[kDeclared]
}
