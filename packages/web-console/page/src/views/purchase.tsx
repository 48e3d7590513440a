import { get } from '../api.ts'
import type { Money } from '../money.ts'
import { texts } from '../texts.ts'
import { Badge } from '../ui/parts.tsx'

const t = texts.purchases

export interface Purchase {
  readonly id: string
  readonly number: number
  readonly status: string
  readonly itemCount: number
  readonly totalQuantity: number
  readonly total: Money | null
  readonly note: string | null
  readonly reference: string | null
  readonly version: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly owner?: string
}

const tones = {
  pending: 'warn',
  confirmed: 'info',
  completed: 'ok',
  cancelled: 'idle',
  expired: 'idle',
} as const

export const Status = ({ status }: { readonly status: string }) => (
  <Badge tone={tones[status as keyof typeof tones] ?? 'idle'}>{t.statuses[status] ?? status}</Badge>
)

type Transitions = Readonly<Record<string, readonly string[]>>

/** What the page needs of the OpenAPI document of the application. */
interface Document {
  readonly paths: { readonly '/purchase/{id}': { readonly patch: { readonly 'x-transitions': Transitions } } }
}

let transitions: Promise<Transitions> | undefined

/** By status, the statuses that it can be changed to. They are asked for once. */
export function readTransitions(): Promise<Transitions> {
  transitions ??= get<Document>('api/openapi.json').then(
    ({ paths }) => paths['/purchase/{id}'].patch['x-transitions'],
  )
  transitions.catch(() => {
    transitions = undefined
  })
  return transitions
}
