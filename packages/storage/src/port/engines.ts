import type { Engine } from '@mortise/module-sdk'

/** What code outside of this package may know of an engine. */
export interface EngineTraits {
  /** For people. */
  readonly title: string
  /** Several hosts may have a database open: others write to it, and take over. It is on a server. */
  readonly isShared: boolean
  /** ALTER TABLE adds, renames and drops columns, and changes nothing else. */
  readonly altersColumnsOnly: boolean
  /** The engine's own tables begin with it. */
  readonly reservedPrefix: string
  /** `db.system.name` of OpenTelemetry. */
  readonly telemetryName: string
}

export const engines: Readonly<Record<Engine, EngineTraits>> = {
  sqlite: {
    title: 'SQLite',
    isShared: false,
    altersColumnsOnly: true,
    reservedPrefix: 'sqlite',
    telemetryName: 'sqlite',
  },
  postgres: {
    title: 'PostgreSQL',
    isShared: true,
    altersColumnsOnly: false,
    reservedPrefix: 'pg',
    telemetryName: 'postgresql',
  },
}

export const engineNames = Object.keys(engines) as readonly Engine[]
