import type { Terminal } from '../terminal/terminal.ts'

/** The input of a change. */
export type Input = Request & Asked

export type Kind = Input['kind']

export type Asked =
  | {
      readonly kind: 'install'
      /** Empty: what modules.lock.json names. */
      readonly specs: readonly string[]
      /** Install exactly what modules.lock.json names, or fail. */
      readonly frozen: boolean
    }
  | { readonly kind: 'upgrade' | 'enable' | 'disable'; readonly names: readonly string[] }
  | {
      readonly kind: 'remove'
      readonly names: readonly string[]
      /** Drop their tables too. */
      readonly purge: boolean
    }
  | {
      readonly kind: 'rollback'
      /** The default is the generation before the last change. */
      readonly generation: number | undefined
      /**
       * Restore the snapshot before the first migration in between, even if the migrations can be
       * undone.
       */
      readonly withSnapshot: boolean
    }
  | { readonly kind: 'host-upgrade'; readonly version: string }

interface Request {
  readonly directory: string
  /** The command line, for the history. */
  readonly command: string
  readonly terminal: Terminal
  /** Skip the confirmation. */
  readonly yes?: boolean
  /** Stop after the plan, without a change. */
  readonly dryRun?: boolean
  /** No network: folders, files, bundles, directories of tarballs, and npm's cache. */
  readonly offline?: boolean
  /** Reject breaking changes instead of asking. */
  readonly failOnBreaking?: boolean
  /** Disable, in the same change, the modules that do not run on the new host. */
  readonly disableIncompatible?: boolean
}
