import { activate } from './activate.ts'
import { audit } from './audit.ts'
import { backup } from './backup.ts'
import { discard } from './discard.ts'
import { environment } from './environment.ts'
import { hold } from './hold.ts'
import { hosts } from './hosts.ts'
import { keep } from './keep.ts'
import { metrics } from './metrics.ts'
import { migrate } from './migrate.ts'
import { openapi } from './openapi.ts'
import { purge } from './purge.ts'
import { reactions } from './reactions.ts'
import { replay } from './replay.ts'
import { restart } from './restart.ts'
import { restoreModule } from './restore-module.ts'
import { retired } from './retired.ts'
import { schema } from './schema.ts'
import { settings } from './settings.ts'
import { settle } from './settle.ts'
import { state } from './state.ts'
import { switchConfig } from './switch-config.ts'
import { undo } from './undo.ts'

/**
 * What the `app` command asks of an application, by name. The control socket, its workers and the command's own way
 * without a host are made from this.
 */
export const operations = {
  activate,
  audit,
  backup,
  discard,
  environment,
  hold,
  hosts,
  keep,
  metrics,
  migrate,
  openapi,
  purge,
  reactions,
  replay,
  restart,
  restoreModule,
  retired,
  schema,
  settings,
  settle,
  state,
  switch: switchConfig,
  undo,
}

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
