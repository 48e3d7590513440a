import { get, has, query } from '../api.ts'
import { caller, clockTime, count, shortId } from '../format.ts'
import { useLoad } from '../load.ts'
import { href, route } from '../route.ts'
import { texts } from '../texts.ts'
import { Card, Copy, Empty, Head, Note, ProblemNote, Time, Waiting } from '../ui/parts.tsx'
import { ClosePane, Split } from '../ui/split.tsx'
import type { CloudEvent, EventPage } from './event-list.ts'

const t = texts.carts
const TYPES = Object.keys(t.kinds).join(',')

interface Cart {
  readonly id: string
  readonly owner: string | undefined
  /** Newest first. */
  readonly events: readonly CloudEvent[]
}

/** No scope shows another caller's cart, so the view shows what events tell of it. */
export default function Carts() {
  const id = route.value.path[1]
  const { data, problem, reload } = useLoad(
    (signal) => get<EventPage>(`event${query({ types: TYPES, limit: 100 })}`, signal),
    [],
    5,
  )
  const carts = data && cartsOf(data.data)
  const open = carts?.find((cart) => cart.id === id)
  return (
    <>
      <Head title={t.title} lead={t.lead} />
      {!has('api-event') && <Note tone="warn">{t.needs}</Note>}
      {problem && <ProblemNote problem={problem} retry={reload} />}
      <Split
        list={
          <div class="card">
            {!carts && !problem && <Waiting />}
            {carts?.length === 0 && (
              <Empty icon="carts" title={t.empty}>
                {t.emptyText}
              </Empty>
            )}
            {carts && carts.length > 0 && <Table carts={carts} chosen={id} />}
          </div>
        }
        pane={open && <Pane cart={open} />}
      />
    </>
  )
}

function cartsOf(events: readonly CloudEvent[]): readonly Cart[] {
  const found = Object.entries(Object.groupBy(events, ({ subject }) => subject))
  return found.map(([id, events = []]) => ({ id, owner: events[0]?.owner, events }))
}

const Table = ({
  carts,
  chosen,
}: {
  readonly carts: readonly Cart[]
  readonly chosen: string | undefined
}) => (
  <table class="rows">
    <thead>
      <tr>
        <th>{t.cart}</th>
        <th class="c-md">{t.owner}</th>
        <th>{t.last}</th>
        <th class="c-lg right">{t.changes}</th>
        <th class="right">{t.when}</th>
      </tr>
    </thead>
    <tbody>
      {carts.map(({ id, owner, events }) => (
        <tr key={id} class={id === chosen ? 'chosen' : undefined}>
          <td>
            <a class="open" href={href('carts', id)}>
              <code>{shortId(id)}</code>
            </a>
          </td>
          <td class="c-md muted cut" title={owner}>
            {owner ? caller(owner) : '—'}
          </td>
          <td>{events[0] && <Change event={events[0]} />}</td>
          <td class="c-lg right">{count(events.length)}</td>
          <td class="right muted">{events[0] && <Time at={events[0].time} />}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

function Change({ event: { type, data } }: { readonly event: CloudEvent }) {
  const { product, quantity } = data as { product?: string; quantity?: number }
  return (
    <>
      {t.kinds[type] ?? type}
      {product && (
        <span class="muted">
          {' '}
          {quantity} × <code>{product}</code>
        </span>
      )}
    </>
  )
}

const Pane = ({ cart }: { readonly cart: Cart }) => (
  <Card title={shortId(cart.id)} actions={<ClosePane to={href('carts')} />}>
    <div class="body stack">
      <dl class="facts">
        <dt>Id</dt>
        <dd>
          <code>{cart.id}</code> <Copy text={cart.id} />
        </dd>
        {cart.owner && (
          <>
            <dt>{t.owner}</dt>
            <dd class="wrap">{cart.owner}</dd>
          </>
        )}
      </dl>
      <ol class="timeline">
        {cart.events.map((event) => (
          <li key={event.id}>
            <span>
              <Change event={event} />
            </span>
            <span class="when">{clockTime(event.time)}</span>
          </li>
        ))}
      </ol>
    </div>
  </Card>
)
