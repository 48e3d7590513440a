import { get, may, query, session } from '../api.ts'
import { caller, count } from '../format.ts'
import { useLoad } from '../load.ts'
import { formatMoney } from '../money.ts'
import { go, href, route, setQuery } from '../route.ts'
import { texts } from '../texts.ts'
import { Choices, Empty, Find, Head, ProblemNote, Time, WaitingCard } from '../ui/parts.tsx'
import { Split } from '../ui/split.tsx'
import { type Purchase, Status } from './purchase.tsx'
import { PurchasePane } from './purchase-pane.tsx'

const t = texts.purchases

interface Page {
  readonly data: readonly Purchase[]
  readonly page?: number
  readonly pages?: number
  readonly total?: number
  readonly totalIsExact?: boolean
}

const ROWS = 25

export default function Purchases() {
  const { path, query: chosen } = route.value
  const id = path[1]
  const { status = '', q = '', page = '1', after } = chosen
  const everyone = may('purchase:read', 'purchase:manage')
  const list = useLoad(
    (signal) => find({ status, q, page, after, everyone }, signal),
    [status, q, page, after],
    after || page !== '1' ? undefined : 10,
  )
  return (
    <>
      <Head title={t.title} />
      <div class="tools">
        <Find label={t.searchLabel} placeholder={t.searchPlaceholder} value={q} search={search} />
        <Choices
          label={t.filter}
          value={status}
          of={[['', t.allStatuses], ...Object.entries(t.statuses)]}
          choose={(status) => setQuery({ status, page: undefined, after: undefined })}
        />
      </div>
      <Split
        list={<List list={list} chosen={id} />}
        pane={id && <PurchasePane key={id} id={id} changed={list.reload} />}
      />
    </>
  )
}

interface Wanted {
  readonly status: string
  readonly q: string
  readonly page: string
  readonly after: string | undefined
  readonly everyone: boolean
}

/** By number if it is one, else by owner. An id is opened at once. */
async function find({ status, q, page, after, everyone }: Wanted, signal: AbortSignal): Promise<Page> {
  const number = /^#?(\d{1,15})$/.exec(q)?.[1]
  const owner = everyone ? (q && number === undefined ? ownerOf(q) : '*') : undefined
  const place = after ? { after } : { page }
  return await get<Page>(`api/purchase${query({ status, owner, number, rpp: ROWS, ...place })}`, signal)
}

/** The id of a caller, or of the user of the own issuer with that subject. */
function ownerOf(text: string): string {
  if (/^(user|guest):/.test(text)) return text
  const own = session.value?.caller.split(':') ?? []
  return own[0] === 'user' ? `user:${own[1]}:${encodeURIComponent(text)}` : text
}

function search(text: string): void {
  if (text.startsWith('purchase_')) go(href('purchases', text) + location.search)
  else setQuery({ q: text, page: undefined, after: undefined })
}

function List({ list, chosen }: { list: ReturnType<typeof useLoad<Page>>; chosen: string | undefined }) {
  const { data, problem, reload } = list
  if (problem && !data) return <ProblemNote problem={problem} retry={reload} />
  if (!data) return <WaitingCard />
  if (data.data.length === 0)
    return (
      <div class="card">
        <Empty icon="purchases" title={t.empty}>
          {t.emptyText}
        </Empty>
      </div>
    )
  return (
    <div class="card">
      {problem && <ProblemNote problem={problem} retry={reload} />}
      <table class="rows">
        <thead>
          <tr>
            <th>{t.number}</th>
            <th>{t.status}</th>
            <th class="c-md">{t.owner}</th>
            <th class="c-lg right">{t.items}</th>
            <th class="right">{t.total}</th>
            <th class="right">{t.created}</th>
          </tr>
        </thead>
        <tbody>
          {data.data.map((one) => (
            <tr key={one.id} class={one.id === chosen ? 'chosen' : undefined}>
              <td>
                <a class="open" href={href('purchases', one.id) + location.search}>
                  {one.number}
                </a>
              </td>
              <td>
                <Status status={one.status} />
              </td>
              <td class="c-md cut muted" title={one.owner}>
                {one.owner ? caller(one.owner) : '—'}
              </td>
              <td class="c-lg right">{count(one.totalQuantity)}</td>
              <td class="right">{formatMoney(one.total)}</td>
              <td class="right muted">
                <Time at={one.createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Foot data={data} />
    </div>
  )
}

function Foot({ data: { data, page, pages = 1, total, totalIsExact = true } }: { readonly data: Page }) {
  const last = data.at(-1)
  return (
    <div class="foot">
      <span>
        {page !== undefined && total !== undefined
          ? `${texts.rows(count(total), totalIsExact)} · ${texts.pageOf(page, pages, totalIsExact)}`
          : ''}
      </span>
      <span class="actions">
        <button
          type="button"
          class="button tiny"
          disabled={page === 1}
          onClick={() =>
            setQuery({ page: page ? String(page - 1) : undefined, after: undefined }, { replace: false })
          }
        >
          {page === undefined ? t.first : texts.previous}
        </button>
        <button
          type="button"
          class="button tiny"
          disabled={page === undefined ? data.length < ROWS : totalIsExact && page >= pages}
          onClick={() =>
            page !== undefined && page < pages
              ? setQuery({ page: String(page + 1) }, { replace: false })
              : setQuery({ page: undefined, after: last?.id }, { replace: false })
          }
        >
          {texts.next}
        </button>
      </span>
    </div>
  )
}
