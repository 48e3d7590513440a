import { get, query } from '../api.ts'

export interface AuditRecord {
  readonly seq: number
  readonly actor: string
  readonly action: string
  readonly object: string
  readonly outcome: string
  readonly requestId: string | null
  readonly at: string
  readonly details: unknown
}

interface Wanted {
  readonly limit?: number
  readonly before?: number | string | undefined
  readonly object?: string | undefined
}

/** Records of the audit trail, newest first. */
export const readAudit = async (wanted: Wanted, signal: AbortSignal): Promise<readonly AuditRecord[]> =>
  (await get<{ records: readonly AuditRecord[] }>(`operator/audit${query({ ...wanted })}`, signal)).records
