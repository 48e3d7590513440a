import type { Reporter } from '../reporting/reporter.ts'

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
      readonly kind: 'pause'
      readonly name: string
      /** Without it the pause lasts until the module is enabled. */
      readonly seconds: number | undefined
    }
  | {
      readonly kind: 'remove'
      readonly names: readonly string[]
      readonly purge: boolean
    }
  | {
      readonly kind: 'rollback'
      /** The default is the generation before the last change. */
      readonly generation: number | undefined
      /** Restore the snapshot before the first migration in between, even if they can be undone. */
      readonly withSnapshot: boolean
    }
  | { readonly kind: 'host-upgrade'; readonly version: string }

interface Request {
  readonly directory: string
  readonly command: string
  readonly terminal: Reporter
  readonly yes?: boolean
  /** Stop after the probe, without a change. */
  readonly dryRun?: boolean
  /** The digest of the only plan that may be applied. */
  readonly plan?: string | undefined
  /** No network: folders, files, bundles, directories of tarballs, and npm's cache. */
  readonly offline?: boolean
  readonly failOnBreaking?: boolean
  /** Install packages that are younger than the setting `install.minAgeHours`. */
  readonly allowNew?: boolean
  /** Disable, in the same change, the modules that do not run on the new host. */
  readonly disableIncompatible?: boolean
}
