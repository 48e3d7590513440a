import { get, query } from '../api.ts'
import { count } from '../format.ts'
import { type Loaded, useLoad } from '../load.ts'
import { formatMoney } from '../money.ts'
import { href, route, setQuery } from '../route.ts'
import { texts } from '../texts.ts'
import { Badge, Choices, Empty, Find, Head, ProblemNote, Time, Waiting } from '../ui/parts.tsx'
import { Split } from '../ui/split.tsx'
import type { Product } from './product.ts'
import { ProductPane } from './product-pane.tsx'

const t = texts.products

interface Page {
  readonly data: readonly Product[]
  readonly page: number
  readonly pages: number
  readonly total: number
  readonly totalIsExact: boolean
}

export default function Products() {
  const { path, query: chosen } = route.value
  const { q = '', active = 'true', page = '1' } = chosen
  const id = path[1]
  const list = useLoad(
    (signal) => get<Page>(`api/product${query({ q, active, page, rpp: 25, sort: 'name' })}`, signal),
    [q, active, page],
  )
  return (
    <>
      <Head title={t.title} />
      <div class="tools">
        <Find
          label={t.searchLabel}
          placeholder={t.searchPlaceholder}
          value={q}
          search={(q) => setQuery({ q, page: undefined })}
        />
        <Choices
          label={t.filter}
          value={active}
          of={[
            ['true', t.active],
            ['false', t.inactive],
          ]}
          choose={(active) => setQuery({ active, page: undefined })}
        />
      </div>
      <Split
        list={<List list={list} chosen={id} />}
        pane={id && <ProductPane key={id} id={id} changed={list.reload} />}
      />
    </>
  )
}

function List({
  list: { data, problem, reload },
  chosen,
}: {
  list: Loaded<Page>
  chosen: string | undefined
}) {
  if (problem && !data) return <ProblemNote problem={problem} retry={reload} />
  return (
    <div class="card">
      {!data && <Waiting />}
      {data?.data.length === 0 && (
        <Empty icon="products" title={t.empty}>
          {t.emptyText}
        </Empty>
      )}
      {data && data.data.length > 0 && (
        <>
          <Table products={data.data} chosen={chosen} />
          <div class="foot">
            <span>
              {texts.rows(count(data.total), data.totalIsExact)} ·{' '}
              {texts.pageOf(data.page, data.pages, data.totalIsExact)}
            </span>
            <span class="actions">
              <button
                type="button"
                class="button tiny"
                disabled={data.page <= 1}
                onClick={() => setQuery({ page: String(data.page - 1) }, { replace: false })}
              >
                {texts.previous}
              </button>
              <button
                type="button"
                class="button tiny"
                disabled={data.page >= data.pages}
                onClick={() => setQuery({ page: String(data.page + 1) }, { replace: false })}
              >
                {texts.next}
              </button>
            </span>
          </div>
        </>
      )}
    </div>
  )
}

const Table = ({ products, chosen }: { products: readonly Product[]; chosen: string | undefined }) => (
  <table class="rows">
    <thead>
      <tr>
        <th>{t.name}</th>
        <th class="right">{t.price}</th>
        <th class="right">{t.stock}</th>
        <th class="c-lg">{texts.modules.state}</th>
        <th class="c-md right">{t.updated}</th>
      </tr>
    </thead>
    <tbody>
      {products.map((one) => (
        <tr key={one.id} class={one.id === chosen ? 'chosen' : undefined}>
          <td>
            <a class="open" href={href('products', one.id) + location.search}>
              {one.name}
            </a>
            <div class="small muted">
              <code>{one.id}</code>
            </div>
          </td>
          <td class="right">{formatMoney(one.price)}</td>
          <td class="right">
            {one.stock === null ? <span class="muted">{t.unlimited}</span> : <Stock count={one.stock} />}
          </td>
          <td class="c-lg">
            <Badge tone={one.active ? 'ok' : 'idle'}>{one.active ? t.active : t.inactive}</Badge>
          </td>
          <td class="c-md right muted">
            <Time at={one.updatedAt} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

const Stock = ({ count: left }: { readonly count: number }) =>
  left === 0 ? (
    <Badge tone="bad" bare>
      0
    </Badge>
  ) : (
    <span>{count(left)}</span>
  )
