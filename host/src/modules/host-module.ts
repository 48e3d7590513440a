import type { ModulePlugin } from '@mortise/module-sdk'
import type { Manifest } from '@mortise/module-sdk/host'

interface Installed {
  readonly id: string
  /** The npm package name. */
  readonly package: string
  readonly version: string
  readonly manifest: Manifest
}

/** Its code is loaded and its settings are valid: it can be registered. */
interface Loaded extends Installed {
  /** The folder of its package.json. */
  readonly directory: string
  readonly plugin: ModulePlugin
  readonly settings: Readonly<Record<string, unknown>>
}

/** A module that serves. */
export interface ActiveModule extends Loaded {
  readonly state: 'active'
}

/** The operator has paused it: its routes respond with 503, and its contracts work. */
export interface PausedModule extends Loaded {
  readonly state: 'paused'
  /** RFC 3339, UTC; absent: until it is enabled. */
  readonly until?: string
}

export type LoadedModule = ActiveModule | PausedModule

/** An installed module that cannot serve: its routes respond with 503. */
export interface FailedModule extends Installed {
  readonly state: 'failed'
  readonly reason: string
  /** Its manifest cannot be read: any unknown path may be one of its routes. */
  readonly routesUnknown?: true
}

/** It has ended the host too often: its routes respond with 503 until it is enabled. */
export interface QuarantinedModule extends Installed {
  readonly state: 'quarantined'
  /** A sentence. */
  readonly reason: string
  /** RFC 3339, UTC. */
  readonly since: string
}

/** An installed module that the operator has disabled. */
interface DisabledModule extends Installed {
  readonly state: 'disabled'
}

export type RegisteredModule = LoadedModule | FailedModule | QuarantinedModule | DisabledModule

/** The message is the reason, a sentence without the name of the module. */
export class ModuleError extends Error {
  override readonly name = 'ModuleError'
  readonly module: string

  constructor(module: string, reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.module = module
  }
}
