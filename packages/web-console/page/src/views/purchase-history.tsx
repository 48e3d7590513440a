import { get, query } from '../api.ts'
import { caller } from '../format.ts'
import { useLoad } from '../load.ts'
import { texts } from '../texts.ts'
import { Card, Time, Waiting } from '../ui/parts.tsx'
import { type AuditRecord, readAudit } from './audit-records.ts'
import type { CloudEvent } from './event-list.ts'

const t = texts.purchases

interface Entry {
  readonly at: string
  readonly what: string
  readonly by: string | undefined
}

/** From the audit trail and the events, newest first. */
export function PurchaseHistory({ id, version }: { readonly id: string; readonly version: number }) {
  const { data } = useLoad((signal) => readHistory(id, signal), [id, version])
  return (
    <Card title={t.history}>
      {data ? (
        <div class="body">
          {data.length === 0 && <p class="muted small">{t.historyEmpty}</p>}
          <ol class="timeline">
            {data.map((entry, index) => (
              <li key={`${entry.at} ${entry.what}`} class={index === 0 ? 'present' : undefined}>
                <span>{entry.what}</span>
                <span class="when">
                  <Time at={entry.at} />
                </span>
                {entry.by && <span class="what muted">{caller(entry.by)}</span>}
              </li>
            ))}
          </ol>
        </div>
      ) : (
        <Waiting />
      )}
    </Card>
  )
}

/** One of the two may not be allowed, or not installed: the other one is shown then. */
async function readHistory(id: string, signal: AbortSignal): Promise<readonly Entry[]> {
  const [records, events] = await Promise.all([
    readAudit({ object: id, limit: 50 }, signal).catch((): readonly AuditRecord[] => []),
    get<{ data: readonly CloudEvent[] }>(`event${query({ subject: id, limit: 50 })}`, signal).then(
      ({ data }) => data,
      (): readonly CloudEvent[] => [],
    ),
  ])
  const audited = records
    .filter(({ object }) => object === id)
    .map(({ at, action, actor }) => ({ at, what: action, by: actor }))
  // A status change is in both: the audit trail says who.
  const others = events
    .filter(({ type }) => audited.length === 0 || type !== 'purchase.status-changed')
    .map(({ time, type, data }) => ({ at: time, what: nameOf(type, data), by: undefined }))
  return [...audited, ...others].sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
}

function nameOf(type: string, data: unknown): string {
  const status = (data as { status?: string } | null)?.status
  return type === 'purchase.status-changed' && status ? `purchase.${status}` : type
}
