export { AddressList } from './address-list.ts'
export type { Audit, AuditEntry } from './audit.ts'
export { callFor } from './call-for.ts'
export { ClockWatch, databaseTime, now, TOLERANCE } from './clock.ts'
export { insufficientScope, invalidRequest } from './common-problems.ts'
export { type ContractRegistry, type Contracts, withoutProblems } from './contracts.ts'
export { currentTime } from './current-time.ts'
export {
  type Declaration,
  defineModule,
  type Module,
  type ModuleContext,
  type ModuleInstance,
  type ModulePlugin,
} from './define-module.ts'
export { type DestinationOptions, Destinations } from './destinations.ts'
export {
  EventStream,
  eventStream,
  type StreamedEvents,
  type StreamLimits,
  type StreamProblem,
  streamProblems,
} from './event-stream.ts'
export {
  type CloudEvent,
  type Event,
  type EventLog,
  type EventQuery,
  type FoundEvents,
  type React,
  toCloudEvent,
} from './events.ts'
export { deleteExpired, expiryDay } from './expiry.ts'
export { fetchPublic, type PublicOutcome, type PublicRequest } from './fetch-public.ts'
export { FilePart, type FilePartOptions, type ReceivedFile } from './file-part.ts'
export { addressKey, DAY, newId, type Row, timestamp } from './forms.ts'
export type { GuestClaim } from './guest-claim.ts'
export { JsonError, readJson } from './json.ts'
export { Loop, type LoopOptions, type Rest } from './loop.ts'
export { currencies, currencyDigits, sumMoney, timesMoney, toDecimal } from './money.ts'
export type {
  CommandResult,
  CommandStreams,
  Operator,
  OperatorMetric,
  OperatorQuery,
  OperatorRequest,
  SignedIn,
} from './operator.ts'
export type { RowValues } from './ordered-rows.ts'
export { type ListedRows, type ListQuery, PagedList, type PagedListOptions } from './paged-list.ts'
export { InvalidPart, Problem, type ProblemDefinition, type ProblemOptions } from './problem.ts'
export { readAtMost } from './read-at-most.ts'
export type {
  Access,
  Caller,
  CursorPage,
  ForeignProblem,
  IfMatch,
  LinkedPage,
  Page,
  Versioned,
} from './request.ts'
export { pauseAfter } from './retries.ts'
export {
  Binary,
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
export {
  byEngine,
  columnsOf,
  type Engine,
  forUpdate,
  identifier,
  join,
  Sql,
  type SqlValue,
  sql,
} from './sql.ts'
export {
  type Database,
  DatabaseError,
  type DatabaseErrorKind,
  type Emission,
  type Emit,
  type EventData,
  type EventSchemas,
  type EventTypes,
  isLoggedElsewhere,
  many,
  maybeOne,
  type NewEvent,
  one,
  type ReadOptions,
  type RouteResponse,
  respond,
  run,
  type SnapshotOptions,
  type Statement,
  type Step,
  send,
  type Transaction,
} from './transaction.ts'
export type { FailedJob, Job, Perform, Work, WorkOptions } from './work.ts'
