import { useState } from 'preact/hooks'
import { may, type Problem, request } from '../api.ts'
import { caller, count, shortId } from '../format.ts'
import { toProblem, useLoad } from '../load.ts'
import { formatMoney, type Money } from '../money.ts'
import { href } from '../route.ts'
import { texts } from '../texts.ts'
import { Card, Copy, Note, ProblemNote, Time, Waiting } from '../ui/parts.tsx'
import { ClosePane } from '../ui/split.tsx'
import { toast } from '../ui/toast.tsx'
import { type Purchase, readTransitions, Status } from './purchase.tsx'
import { PurchaseHistory } from './purchase-history.tsx'

const t = texts.purchases

interface Item {
  readonly id: string
  readonly product: string
  readonly quantity: number
  readonly note: string | null
  readonly name: string | null
  readonly unitPrice: Money | null
  readonly lineTotal: Money | null
}

interface Adjustment {
  readonly id: string
  readonly label: string
  readonly amount: Money
}

interface Whole extends Purchase {
  readonly items: readonly Item[]
  readonly adjustments?: readonly Adjustment[]
}

export function PurchasePane({ id, changed }: { readonly id: string; changed(): void }) {
  const { data, problem, reload } = useLoad(
    async (signal) => request<Whole>(`api/purchase/${encodeURIComponent(id)}`, { signal }),
    [id],
  )
  const close = <ClosePane to={href('purchases') + location.search} />
  if (problem && !data)
    return (
      <Card title={shortId(id)} actions={close}>
        <div class="body">
          <ProblemNote problem={problem} retry={reload} />
        </div>
      </Card>
    )
  if (!data)
    return (
      <Card title={shortId(id)} actions={close}>
        <Waiting />
      </Card>
    )
  const { body: purchase, etag } = data
  const again = () => {
    reload()
    changed()
  }
  return (
    <div class="stack">
      <Card
        title={t.detail(purchase.number)}
        actions={
          <>
            <Status status={purchase.status} />
            {close}
          </>
        }
      >
        <div class="body stack">
          <Transitions purchase={purchase} etag={etag} changed={again} />
          <dl class="facts">
            <dt>Id</dt>
            <dd>
              <code>{purchase.id}</code> <Copy text={purchase.id} label={t.copyId} />
            </dd>
            {purchase.owner && (
              <>
                <dt>{t.owner}</dt>
                <dd title={purchase.owner}>{caller(purchase.owner)}</dd>
              </>
            )}
            <dt>{t.created}</dt>
            <dd>
              <Time at={purchase.createdAt} />
            </dd>
            {purchase.reference && (
              <>
                <dt>{t.reference}</dt>
                <dd>{purchase.reference}</dd>
              </>
            )}
            {purchase.note && (
              <>
                <dt>{t.note}</dt>
                <dd>{purchase.note}</dd>
              </>
            )}
          </dl>
        </div>
      </Card>
      <Items purchase={purchase} />
      <PurchaseHistory purchase={purchase} />
    </div>
  )
}

interface TransitionsProps {
  readonly purchase: Whole
  readonly etag: string | null
  changed(): void
}

function Transitions({ purchase, etag, changed }: TransitionsProps) {
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const manages = may('admin')
  const transitions = useLoad(async () => (manages ? await readTransitions() : {}), [])
  const allowed = transitions.data?.[purchase.status]
  if (!manages) return null
  const move = async (status: string) => {
    setBusy(true)
    setProblem(undefined)
    try {
      await request(`api/purchase/${purchase.id}`, {
        method: 'PATCH',
        body: { status },
        ...(etag && { ifMatch: etag }),
      })
      toast(t.moved(t.statuses[status] ?? status))
    } catch (error) {
      setProblem(toProblem(error))
    }
    setBusy(false)
    changed()
  }
  return (
    <>
      {problem?.status === 412 ? (
        <Note tone="warn">{t.conflict}</Note>
      ) : (
        problem && <ProblemNote problem={problem} />
      )}
      {transitions.problem && <ProblemNote problem={transitions.problem} retry={transitions.reload} />}
      {allowed?.length === 0 && <p class="muted small">{t.noTransition}</p>}
      {allowed && allowed.length > 0 && (
        <div class="actions">
          {allowed.map((status) => (
            <button
              type="button"
              key={status}
              class={status === 'cancelled' ? 'button bad' : 'button main'}
              disabled={isBusy}
              onClick={() => void move(status)}
            >
              {t.to[status] ?? status}
            </button>
          ))}
        </div>
      )}
    </>
  )
}

const Items = ({ purchase }: { readonly purchase: Whole }) => (
  <Card title={`${t.items} (${count(purchase.itemCount)})`}>
    <table>
      <thead>
        <tr>
          <th>{t.product}</th>
          <th class="right">{t.quantity}</th>
          <th class="right">{t.line}</th>
        </tr>
      </thead>
      <tbody>
        {purchase.items.map((item) => (
          <tr key={item.id}>
            <td class="wrap">
              {item.name ?? item.product}
              <div class="small muted">
                {item.name && <code>{item.product}</code>}
                {item.unitPrice && ` · ${formatMoney(item.unitPrice)}`}
                {item.note && ` · ${item.note}`}
              </div>
            </td>
            <td class="right">{count(item.quantity)}</td>
            <td class="right">{formatMoney(item.lineTotal)}</td>
          </tr>
        ))}
        {purchase.adjustments?.map((one) => (
          <tr key={one.id}>
            <td colSpan={2}>{one.label}</td>
            <td class="right">{formatMoney(one.amount)}</td>
          </tr>
        ))}
        <tr>
          <td class="strong" colSpan={2}>
            {t.total}
          </td>
          <td class="right strong">{formatMoney(purchase.total)}</td>
        </tr>
      </tbody>
    </table>
  </Card>
)
