import { get, query } from '../api.ts'
import { caller } from '../format.ts'
import { useLoad } from '../load.ts'
import { texts } from '../texts.ts'
import { Card, Time, Waiting } from '../ui/parts.tsx'
import { type AuditRecord, readAudit } from './audit-records.ts'
import type { CloudEvent, EventPage } from './event-list.ts'

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

/** So many of the newest records of the audit trail say who changed a status. */
const RECORDS = 1000
/** So many pages of the log are searched for what happened to the purchase. */
const PAGES = 3

/** One of the two may not be allowed, or not installed: the other one is shown then. */
async function readHistory(id: string, signal: AbortSignal): Promise<readonly Entry[]> {
  const [records, events] = await Promise.all([
    readAudit({ limit: RECORDS }, signal).catch((): readonly AuditRecord[] => []),
    readEvents(id, signal).catch((): readonly CloudEvent[] => []),
  ])
  const audited = records.filter(({ object }) => object === id)
  const happened = events.map(({ time, type, data }) => {
    const what = nameOf(type, data)
    return { at: time, what, by: audited.find(({ action }) => action === what)?.actor }
  })
  const others = audited
    .filter(({ action }) => !happened.some(({ what }) => what === action))
    .map(({ at, action, actor }) => ({ at, what: action, by: actor }))
  return [...happened, ...others].sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
}

async function readEvents(subject: string, signal: AbortSignal): Promise<readonly CloudEvent[]> {
  const found: CloudEvent[] = []
  let before: EventPage['before'] | undefined
  for (let page = 0; page < PAGES && before !== null; page++) {
    const next: EventPage = await get(`event${query({ subject, limit: 50, before })}`, signal)
    found.push(...next.data)
    if (found.some(({ type }) => type === 'purchase.created')) break
    before = next.before
  }
  return found
}

function nameOf(type: string, data: unknown): string {
  const status = (data as { status?: string } | null)?.status
  return type === 'purchase.status-changed' && status ? `purchase.${status}` : type
}
