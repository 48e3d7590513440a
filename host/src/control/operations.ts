import * as operations from './operations/index.ts'

/** The control socket, its workers and commands without a host derive from this list. */
export { operations }

type Operations = typeof operations
export type OperationName = keyof Operations
export type InputOf<Name extends OperationName> = Parameters<Operations[Name]['run']>[1]
export type OutputOf<Name extends OperationName> = Awaited<ReturnType<Operations[Name]['run']>>
export type DatabaseOperationName = {
  [Name in OperationName]: Operations[Name] extends { readonly needs: 'host' } ? never : Name
}[OperationName]
/** The arguments after the name of an operation in a call. */
export type InputArgument<Name extends OperationName> =
  object extends InputOf<Name> ? [input?: InputOf<Name>] : [input: InputOf<Name>]
