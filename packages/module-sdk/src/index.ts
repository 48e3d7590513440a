export { addressKey } from './address-key.ts'
export { AddressList } from './address-list.ts'
export { Answer, answer } from './answer.ts'
export type { Audit, AuditEntry } from './audit.ts'
export type { CartContract, CartQuantity } from './cart-contract.ts'
export { ClockWatch } from './clock-watch.ts'
export type { ContractRegistry, Contracts } from './contracts.ts'
export { defineModule, type ModuleContext, type ModuleInstance, type ModulePlugin } from './define-module.ts'
export {
  type CloudEvent,
  type DefinedEvents,
  defineEvents,
  type Emit,
  type Event,
  type EventData,
  type EventLog,
  type EventQuery,
  type EventTypes,
  type NewEvent,
  type React,
  toCloudEvent,
} from './events.ts'
export type { GuestClaim } from './guest-claim.ts'
export { newId } from './id.ts'
export { Manifest } from './manifest.ts'
export {
  defineProblems,
  InvalidPart,
  Problem,
  type ProblemDefinition,
  ProblemDetails,
  type ProblemOptions,
  type Problems,
} from './problem.ts'
export { RankedList, type RankedListSource, type RankedPage } from './ranked-list.ts'
export type { Access, Caller, CursorPage, LinkedPage, Page, Versioned } from './request.ts'
export {
  CursorPageOf,
  cursorQuery,
  Deleted,
  Id,
  IdParams,
  List,
  MAX_QUANTITY,
  Money,
  Nullable,
  noControls,
  PageOf,
  Product,
  pageQuery,
  Quantity,
  Strict,
  Timestamp,
  walkQuery,
} from './schemas.ts'
export { byEngine, identifier, join, Sql, type SqlValue, sql } from './sql.ts'
export { DAY, timestamp } from './time.ts'
export {
  type Database,
  DatabaseError,
  type DatabaseErrorKind,
  type Emission,
  firstOf,
  many,
  maybeOne,
  one,
  run,
  type Statement,
  type Step,
  type Transaction,
} from './transaction.ts'
