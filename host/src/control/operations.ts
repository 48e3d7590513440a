import * as operations from './operations/index.ts'

/**
 * What the `app` command asks of an application, by name. The control socket, its workers and the command's own way
 * without a host are made from this.
 */
export { operations }

type Operations = typeof operations
export type OperationName = keyof Operations
export type InputOf<Name extends OperationName> = Parameters<Operations[Name]['run']>[1]
export type OutputOf<Name extends OperationName> = Awaited<ReturnType<Operations[Name]['run']>>
/** The names of those that a command does itself where no host runs. */
export type DatabaseOperationName = {
  [Name in OperationName]: Operations[Name] extends { readonly needs: 'host' } ? never : Name
}[OperationName]
/** What follows the name of an operation in a call. */
export type InputArgument<Name extends OperationName> =
  object extends InputOf<Name> ? [input?: InputOf<Name>] : [input: InputOf<Name>]
