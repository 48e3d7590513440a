import { Problem, request } from '../api.ts'
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

/** The statuses that a purchase can change to: the host lists them when it refuses the present one. */
export async function allowedFor({ id, status }: Purchase): Promise<readonly string[]> {
  try {
    await request(`api/purchase/${id}`, { method: 'PATCH', body: { status } })
  } catch (error) {
    if (error instanceof Problem && error.code === 'illegal-transition') return error.allowed ?? []
  }
  return []
}
