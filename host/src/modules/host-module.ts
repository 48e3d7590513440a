import type { ModulePlugin } from '@mortise/module-sdk'
import type { Manifest } from '@mortise/module-sdk/host'

interface Installed {
  readonly id: string
  /** The npm package name. */
  readonly package: string
  readonly version: string
  readonly manifest: Manifest
}

/** A module with loaded code and valid settings: it can be registered. */
export interface ActiveModule extends Installed {
  readonly state: 'active'
  /** The folder of its package.json. */
  readonly directory: string
  readonly plugin: ModulePlugin
  readonly settings: Readonly<Record<string, unknown>>
}

/** An installed module that cannot serve: its routes respond with 503. */
export interface FailedModule extends Installed {
  readonly state: 'failed'
  readonly reason: string
  /** Its manifest cannot be read: any unknown path may be one of its routes. */
  readonly routesUnknown?: true
}

/** An installed module that the operator has disabled. */
interface DisabledModule extends Installed {
  readonly state: 'disabled'
}

export type RegisteredModule = ActiveModule | FailedModule | DisabledModule

/** The message is the reason, a sentence without the name of the module. */
export class ModuleError extends Error {
  override readonly name = 'ModuleError'
  readonly module: string

  constructor(module: string, reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.module = module
  }
}
