import { get, query, request } from '../api.ts'

export interface Webhook {
  readonly id: string
  readonly url: string
  readonly types: readonly string[]
  readonly everyone: boolean
  readonly description: string
  readonly enabled: boolean
  readonly disabledReason: string | null
  readonly failingSince: string | null
  readonly behindSince: string | null
  readonly createdAt: string
  readonly owner?: string
}

export interface Delivery {
  readonly id: string
  readonly type: string
  readonly subject: string
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  readonly nextAttemptAt: string | null
  readonly lastAttemptAt: string | null
  readonly status: number | null
  readonly error: string | null
  readonly response: string | null
  readonly createdAt: string
  readonly endedAt: string | null
}

export interface Deliveries {
  readonly data: readonly Delivery[]
  readonly next: string | null
}

interface Wanted {
  readonly state?: string
  readonly before?: string | undefined
  readonly limit?: number
}

export const readDeliveries = (id: string, { state, before, limit = 20 }: Wanted, signal?: AbortSignal) =>
  get<Deliveries>(`api/webhook/${id}/delivery${query({ state, before, limit })}`, signal)

/** The ids of all deliveries in a state: what a replay of all will send, no more and no fewer. */
export async function idsOf(id: string, state: string): Promise<readonly string[]> {
  const ids: string[] = []
  for (let before: string | undefined; ; ) {
    const { data, next } = await readDeliveries(id, { state, before, limit: 100 })
    ids.push(...data.map((delivery) => delivery.id))
    before = data.at(-1)?.id
    if (next === null || before === undefined) return ids
  }
}

export const replay = (id: string, delivery: string) =>
  request<Delivery>(`api/webhook/${id}/delivery/${delivery}/replay`, { method: 'POST' })
