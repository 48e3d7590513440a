import { useEffect, useRef } from 'preact/hooks'
import { get } from '../api.ts'
import { type Loaded, useLoad } from '../load.ts'

export interface Installed {
  readonly id: string
  readonly package: string
  readonly version: string
  readonly state: string
  readonly reason: string | null
  readonly until: string | null
  readonly routes: readonly string[]
  readonly latest?: string | null
  readonly outdated?: boolean
}

export interface Modules {
  readonly generation: number
  readonly modules: readonly Installed[]
}

const readModules = (signal: AbortSignal) => get<Modules>('operator/module-list', signal)

/** The installed modules. A command lists them, so it runs again only when a state or a version has changed. */
export function useModules(turn: number): Loaded<Modules> {
  const list = useLoad(readModules, [turn], undefined, 'modules')
  const present = useLoad((signal) => get<{ modules: unknown }>('operator/host', signal), [turn], 15)
  const states = JSON.stringify(present.data?.modules)
  const before = useRef(states)
  useEffect(() => {
    if (before.current !== undefined && states !== undefined && before.current !== states) list.reload()
    before.current = states ?? before.current
  }, [states])
  return list
}

export interface Generation {
  readonly generation: number
  readonly at: string
  readonly command: string
  readonly present: boolean
  readonly changes: readonly string[]
}

export interface Finding {
  readonly id: string
  readonly severity: 'error' | 'warning' | 'info'
  readonly message: string
  readonly hint: string
}

export interface Setting {
  /** `api-purchase.expirePendingAfterMinutes`. */
  readonly key: string
  readonly value: unknown
  readonly source: string
  readonly default: unknown
  readonly variable: string
  readonly description: string
  readonly secret?: boolean
  readonly schema?: Schema
}

/** A part of JSON Schema: what settings use. */
export interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly items?: Schema
  readonly writeOnly?: boolean
}

export const stateTones = {
  active: 'ok',
  disabled: 'idle',
  paused: 'warn',
  failed: 'bad',
  quarantined: 'bad',
} as const
