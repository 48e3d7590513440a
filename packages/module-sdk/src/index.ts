export { addressKey } from './address-key.ts'
export { AddressList } from './address-list.ts'
export { type Answer, answer, isAnswer } from './answer.ts'
export type { Audit, AuditEntry } from './audit.ts'
export { ClockWatch } from './clock-watch.ts'
export { commonProblems, insufficientScope, invalidRequest } from './common-problems.ts'
export type { ContractRegistry, Contracts } from './contracts.ts'
export {
  type Declaration,
  declarationOf,
  defineModule,
  type Module,
  type ModuleContext,
  type ModuleInstance,
  type ModulePlugin,
} from './define-module.ts'
export {
  type CloudEvent,
  type Emit,
  type Event,
  type EventData,
  type EventLog,
  type EventQuery,
  type EventSchemas,
  type EventTypes,
  type NewEvent,
  type React,
  toCloudEvent,
} from './events.ts'
export { deleteExpired, expiryDay } from './expiry.ts'
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
export { RankedList, type RankedListOptions, type RankedPage } from './ranked-list.ts'
export type { Access, Caller, CursorPage, IfMatch, LinkedPage, Page, Versioned } from './request.ts'
export {
  CursorPageOf,
  cursorQuery,
  Deleted,
  Id,
  IdParams,
  List,
  Money,
  Nullable,
  noControls,
  PageOf,
  pageQuery,
  Strict,
  Timestamp,
  VisibleText,
  walkQuery,
} from './schemas.ts'
export { byEngine, forUpdate, identifier, join, Sql, type SqlValue, sql } from './sql.ts'
export { DAY, type Row, timestamp } from './time.ts'
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
