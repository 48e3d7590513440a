import { get, query } from '../api.ts'
import { caller } from '../format.ts'
import { useLoad } from '../load.ts'
import { texts } from '../texts.ts'
import { Card, Time, Waiting } from '../ui/parts.tsx'
import { readAudit } from './audit-records.ts'
import type { EventPage } from './event-list.ts'
import type { Purchase } from './purchase.tsx'

const t = texts.purchases

interface Entry {
  readonly at: string
  readonly what: string
  readonly by: string | undefined
}

/** From the audit trail and the events, newest first. */
export function PurchaseHistory({ purchase }: { readonly purchase: Purchase }) {
  const { id, version } = purchase
  const { data } = useLoad((signal) => readHistory(purchase, signal), [id, version])
  return (
    <Card title={t.history}>
      {data ? (
        <div class="body">
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

/** More changes of one purchase are not shown. */
const MOST = 100

/**
 * The audit trail has each change of the status for good, the log of events what else happened lately. One of the two
 * may not be allowed, or not installed: the other one is shown then.
 */
async function readHistory(purchase: Purchase, signal: AbortSignal): Promise<readonly Entry[]> {
  const { id, owner, createdAt } = purchase
  const [records, events] = await Promise.all([
    readAudit({ object: id, limit: MOST }, signal).catch(() => []),
    get<EventPage>(`event${query({ subject: id, limit: MOST })}`, signal).catch(() => ({ data: [] })),
  ])
  const created = { at: createdAt, what: 'purchase.created', by: owner }
  const audited = records.map(({ at, action, actor }) => ({ at, what: action, by: actor }))
  const known = new Set([created, ...audited].map(({ what }) => what))
  const others = events.data
    .map(({ time, type, data }) => ({ at: time, what: nameOf(type, data), by: undefined }))
    .filter(({ what }) => !known.has(what))
  return [...audited, ...others, created].sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
}

function nameOf(type: string, data: unknown): string {
  const status = (data as { status?: string } | null)?.status
  return type === 'purchase.status-changed' && status ? `purchase.${status}` : type
}
