import { useEffect, useState } from 'preact/hooks'
import { get, type Problem, query } from '../api.ts'
import { caller, clockTime, fullTime, shortId } from '../format.ts'
import { toProblem } from '../load.ts'
import { href, route, setQuery } from '../route.ts'
import { texts } from '../texts.ts'
import { Card, Copy, Empty, Find, Head, Json, ProblemNote, Waiting } from '../ui/parts.tsx'
import { ClosePane, Split } from '../ui/split.tsx'
import type { CloudEvent, EventPage } from './event-list.ts'

const t = texts.events
const KEPT = 500

/** Newest first. New ones are asked for every other second, and appear on top unless they are held. */
function useEvents(types: string, subject: string, isLive: boolean) {
  const [events, setEvents] = useState<readonly CloudEvent[]>()
  const [before, setBefore] = useState<EventPage['before']>(null)
  const [problem, setProblem] = useState<Problem>()
  const [first, setFirst] = useState<ReadonlySet<string>>()
  const filter = { types, subject, limit: 50 }

  useEffect(() => {
    const controller = new AbortController()
    let isFirst = true
    const read = async () => {
      try {
        const page = await get<EventPage>(`event${query(filter)}`, controller.signal)
        if (controller.signal.aborted) return
        setProblem(undefined)
        if (isFirst) {
          setFirst(new Set(page.data.map(({ id }) => id)))
          setBefore(page.before)
          setEvents(page.data)
        } else setEvents((known = []) => merge(page.data, known))
        isFirst = false
      } catch (error) {
        if (!controller.signal.aborted) setProblem(toProblem(error))
      }
    }
    void read()
    const timer = isLive ? setInterval(() => document.hidden || void read(), 2000) : undefined
    return () => {
      controller.abort()
      clearInterval(timer)
    }
  }, [types, subject, isLive])

  const older = async () => {
    try {
      const page = await get<EventPage>(`event${query({ ...filter, before })}`)
      setBefore(page.before)
      setEvents((known = []) => [...known, ...page.data])
    } catch (error) {
      setProblem(toProblem(error))
    }
  }
  return { events, before, problem, older, isFresh: (id: string) => first !== undefined && !first.has(id) }
}

function merge(found: readonly CloudEvent[], known: readonly CloudEvent[]): readonly CloudEvent[] {
  const ids = new Set(known.map(({ id }) => id))
  const added = found.filter(({ id }) => !ids.has(id))
  return added.length === 0 ? known : [...added, ...known].slice(0, KEPT)
}

export default function Events() {
  const { path, query: chosen } = route.value
  const { types = '', subject = '' } = chosen
  const [isLive, setLive] = useState(true)
  const { events, before, problem, older, isFresh } = useEvents(types, subject, isLive)
  const open = events?.find(({ id }) => id === path[1])
  const known = [...new Set([...(types ? [types] : []), ...(events ?? []).map(({ type }) => type)])].sort()
  return (
    <>
      <Head title={t.title} lead={t.lead}>
        <button type="button" class="button live" aria-pressed={isLive} onClick={() => setLive(!isLive)}>
          <i />
          {t.live}
        </button>
      </Head>
      <div class="tools">
        <Find
          label={t.filterLabel}
          placeholder={t.filterPlaceholder}
          value={subject}
          search={(subject) => setQuery({ subject })}
        />
        <select
          class="input"
          aria-label={t.types}
          value={types}
          onChange={(event) => setQuery({ types: event.currentTarget.value })}
        >
          <option value="">{t.allTypes}</option>
          {known.map((type) => (
            <option key={type} value={type}>
              {type}
            </option>
          ))}
        </select>
      </div>
      {problem && <ProblemNote problem={problem} />}
      <Split
        list={
          <div class="card">
            {!events && !problem && <Waiting />}
            {events?.length === 0 && (
              <Empty icon="events" title={t.empty}>
                {t.emptyText}
              </Empty>
            )}
            {events && events.length > 0 && <Table events={events} chosen={path[1]} isFresh={isFresh} />}
            {before !== null && (
              <div class="foot">
                <span />
                <button type="button" class="button tiny" onClick={() => void older()}>
                  {t.older}
                </button>
              </div>
            )}
          </div>
        }
        pane={open && <Pane event={open} />}
      />
    </>
  )
}

interface TableProps {
  readonly events: readonly CloudEvent[]
  readonly chosen: string | undefined
  isFresh(id: string): boolean
}

const Table = ({ events, chosen, isFresh }: TableProps) => (
  <table class="rows">
    <thead>
      <tr>
        <th>{t.time}</th>
        <th>{t.type}</th>
        <th>{t.subject}</th>
        <th class="c-lg">{t.owner}</th>
      </tr>
    </thead>
    <tbody>
      {events.map((event) => (
        <tr key={event.id} class={event.id === chosen ? 'chosen' : isFresh(event.id) ? 'fresh' : undefined}>
          <td class="muted">
            <time dateTime={event.time} title={fullTime(event.time)}>
              {clockTime(event.time)}
            </time>
          </td>
          <td>
            <a class="open" href={href('events', event.id) + location.search}>
              {event.type}
            </a>
          </td>
          <td title={event.subject}>
            <code>{shortId(event.subject)}</code>
          </td>
          <td class="c-lg muted cut" title={event.owner}>
            {event.owner ? caller(event.owner) : '—'}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

const Pane = ({ event }: { readonly event: CloudEvent }) => (
  <Card title={event.type} actions={<ClosePane to={href('events') + location.search} />}>
    <div class="body stack">
      <dl class="facts">
        <dt>{t.time}</dt>
        <dd>{fullTime(event.time)}</dd>
        <dt>{t.subject}</dt>
        <dd>
          <code>{event.subject}</code> <Copy text={event.subject} />
        </dd>
        {event.owner && (
          <>
            <dt>{t.owner}</dt>
            <dd title={event.owner}>{caller(event.owner)}</dd>
          </>
        )}
        <dt>{t.source}</dt>
        <dd>
          <code>{event.source}</code>
        </dd>
        <dt>Id</dt>
        <dd>
          <code>{event.id}</code> <Copy text={event.id} />
        </dd>
      </dl>
      <h3>{t.data}</h3>
      <Json value={event.data} />
    </div>
  </Card>
)
