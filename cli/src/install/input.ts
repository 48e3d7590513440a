import type { Terminal } from '../terminal/terminal.ts'

/** What a command asks for. */
export type Input = Request & Asked

export type Kind = Input['kind']

export type Asked =
  | {
      readonly kind: 'install'
      /** None: what modules.lock.json names. */
      readonly specs: readonly string[]
      /** Exactly what modules.lock.json names, or nothing. */
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
      /** The one before the last change, where it is left out. */
      readonly generation: number | undefined
      /** Put the snapshot back that precedes the first migration in between, whether it can be undone or not. */
      readonly withSnapshot: boolean
    }
  | { readonly kind: 'host-upgrade'; readonly version: string }

interface Request {
  readonly directory: string
  /** As it was called, for the history. */
  readonly command: string
  readonly terminal: Terminal
  /** Do not ask. */
  readonly yes?: boolean
  /** Stop after the plan, with nothing changed. */
  readonly dryRun?: boolean
  /** No network: folders, files, bundles, directories of tarballs, and npm's cache. */
  readonly offline?: boolean
  /** Refuse what breaks callers or other modules, instead of asking. */
  readonly failOnBreaking?: boolean
  /** Switch off, in the same change, modules that do not run on the host that it brings. */
  readonly disableIncompatible?: boolean
}
