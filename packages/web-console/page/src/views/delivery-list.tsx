import { useEffect, useState } from 'preact/hooks'
import { may, type Problem } from '../api.ts'
import { count, shortId } from '../format.ts'
import { toProblem } from '../load.ts'
import { texts } from '../texts.ts'
import { Badge, Card, Choices, Empty, Note, ProblemNote, Time, Waiting } from '../ui/parts.tsx'
import { toast } from '../ui/toast.tsx'
import { type Delivery, idsOf, readDeliveries, replay, type Webhook } from './webhook.ts'

const t = texts.webhooks
const tones = { pending: 'warn', delivered: 'ok', failed: 'bad' } as const

export function DeliveryList({ webhook, turn }: { readonly webhook: Webhook; readonly turn: number }) {
  const [state, setState] = useState('')
  const [deliveries, setDeliveries] = useState<readonly Delivery[]>()
  const [hasMore, setMore] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  const [changes, setChanges] = useState(0)
  const { id } = webhook

  const read = async (before?: string, signal?: AbortSignal) => {
    try {
      const page = await readDeliveries(id, { state, before }, signal)
      setDeliveries((known = []) => (before ? [...known, ...page.data] : page.data))
      setMore(page.next !== null)
      setProblem(undefined)
    } catch (error) {
      if (!signal?.aborted) setProblem(toProblem(error))
    }
  }
  useEffect(() => {
    const controller = new AbortController()
    void read(undefined, controller.signal)
    // Only the newest are read again: a longer list stays as it was.
    const timer = setInterval(() => {
      if (!document.hidden && (deliveries?.length ?? 0) <= 20) void read(undefined, controller.signal)
    }, 4000)
    return () => {
      controller.abort()
      clearInterval(timer)
    }
  }, [id, state, turn, changes])

  return (
    <Card
      title={t.deliveries}
      actions={
        <Choices
          label={t.state}
          value={state}
          of={[['', texts.all], ...Object.entries(t.states)]}
          choose={(state) => {
            setDeliveries(undefined)
            setState(state)
          }}
        />
      }
    >
      {problem && (
        <div class="body">
          <ProblemNote problem={problem} retry={() => void read()} />
        </div>
      )}
      {!deliveries && !problem && <Waiting />}
      {deliveries?.length === 0 && (
        <Empty icon="webhooks" title={t.noDeliveries}>
          {t.noDeliveriesText}
        </Empty>
      )}
      {deliveries && deliveries.length > 0 && (
        <ul>
          {deliveries.map((delivery) => (
            <Row
              key={delivery.id}
              webhook={webhook}
              delivery={delivery}
              changed={() => setChanges(changes + 1)}
            />
          ))}
        </ul>
      )}
      <div class="foot">
        {may('admin') && state !== '' ? (
          <ReplayAll
            key={`${id} ${state}`}
            webhook={webhook}
            state={state}
            changed={() => setChanges(changes + 1)}
          />
        ) : (
          <span />
        )}
        {hasMore && (
          <button type="button" class="button tiny" onClick={() => void read(deliveries?.at(-1)?.id)}>
            {texts.events.older}
          </button>
        )}
      </div>
    </Card>
  )
}

interface RowProps {
  readonly webhook: Webhook
  readonly delivery: Delivery
  changed(): void
}

function Row({ webhook, delivery, changed }: RowProps) {
  const [problem, setProblem] = useState<Problem>()
  const again = async () => {
    try {
      await replay(webhook.id, delivery.id)
      toast(t.replayedOne)
      changed()
    } catch (error) {
      setProblem(toProblem(error))
    }
  }
  return (
    <li class="delivery">
      <details>
        <summary>
          <span class="strong">{delivery.type}</span>{' '}
          <Badge tone={tones[delivery.state]}>
            {t.states[delivery.state]}
            {delivery.status !== null && ` · ${delivery.status}`}
          </Badge>
          <span class="small muted block">
            <code>{shortId(delivery.subject)}</code> · <Time at={delivery.createdAt} />
          </span>
        </summary>
        <dl class="facts">
          <dt>Id</dt>
          <dd>
            <code>{delivery.id}</code>
          </dd>
          <dt>{t.attempts}</dt>
          <dd>{count(delivery.attempts)}</dd>
          {delivery.lastAttemptAt && (
            <>
              <dt>{t.lastAttempt}</dt>
              <dd>
                <Time at={delivery.lastAttemptAt} />
              </dd>
            </>
          )}
          {delivery.nextAttemptAt && (
            <>
              <dt>{t.nextAttempt}</dt>
              <dd>
                <Time at={delivery.nextAttemptAt} />
              </dd>
            </>
          )}
        </dl>
        {(delivery.error || delivery.response) && <pre>{delivery.error ?? delivery.response}</pre>}
        {problem && <ProblemNote problem={problem} />}
      </details>
      {may('admin') && (
        <button
          type="button"
          class="button tiny"
          aria-label={`${t.replay}: ${delivery.id}`}
          onClick={() => void again()}
        >
          {t.replay}
        </button>
      )}
    </li>
  )
}

/** Counts first, then replays exactly the deliveries that were counted. */
function ReplayAll({ webhook, state, changed }: { webhook: Webhook; state: string; changed(): void }) {
  const [ids, setIds] = useState<readonly string[]>()
  const [isCounting, setCounting] = useState(false)
  const [done, setDone] = useState<number>()
  const [failures, setFailures] = useState<readonly Problem[]>([])

  const countThem = async () => {
    setCounting(true)
    setDone(undefined)
    setFailures([])
    try {
      setIds(await idsOf(webhook.id, state))
    } catch (error) {
      setFailures([toProblem(error)])
    }
    setCounting(false)
  }
  const replayThem = async () => {
    const refused: Problem[] = []
    setDone(0)
    for (const [index, id] of (ids ?? []).entries()) {
      await replay(webhook.id, id).catch((error) => refused.push(toProblem(error)))
      setDone(index + 1 - refused.length)
    }
    setFailures(refused)
    changed()
  }
  return (
    <div class="stack tight">
      {ids === undefined && (
        <button type="button" class="button tiny" disabled={isCounting} onClick={() => void countThem()}>
          {isCounting ? t.counting : t.replayAll}
        </button>
      )}
      {ids?.length === 0 && <span>{t.noneMatch}</span>}
      {ids && ids.length > 0 && done === undefined && (
        <Note
          tone="warn"
          action={
            <span class="actions">
              <button type="button" class="button tiny main" onClick={() => void replayThem()}>
                {t.replayNow(ids.length)}
              </button>
              <button type="button" class="button tiny" onClick={() => setIds(undefined)}>
                {texts.cancel}
              </button>
            </span>
          }
        >
          {t.replayCount(ids.length, t.states[state]?.toLowerCase() ?? state)}
        </Note>
      )}
      {ids && done !== undefined && <span role="status">{t.replayed(done, ids.length)}</span>}
      {failures[0] && (
        <Note tone="bad">
          <p>{t.replayFailed(failures.length)}</p>
          <p>{failures[0].detail}</p>
        </Note>
      )}
    </div>
  )
}
