import { useState } from 'preact/hooks'
import { may, type Problem, request } from '../api.ts'
import { caller, fullTime } from '../format.ts'
import { toProblem, useLoad } from '../load.ts'
import { href } from '../route.ts'
import { texts } from '../texts.ts'
import { Card, Command, Note, ProblemNote, Waiting } from '../ui/parts.tsx'
import { ClosePane } from '../ui/split.tsx'
import { toast } from '../ui/toast.tsx'
import { DeliveryList } from './delivery-list.tsx'
import type { Webhook } from './webhook.ts'
import { WebhookState } from './webhook-state.tsx'

const t = texts.webhooks

export function WebhookPane({ id, changed }: { readonly id: string; changed(): void }) {
  const { data, problem, reload } = useLoad(
    (signal) => request<Webhook>(`api/webhook/${id}`, { signal }),
    [id],
  )
  const [turn, setTurn] = useState(0)
  const close = <ClosePane to={href('webhooks')} />
  const again = () => {
    reload()
    changed()
    setTurn((turn) => turn + 1)
  }
  if (!data)
    return (
      <Card title={t.title} actions={close}>
        {problem ? (
          <div class="body">
            <ProblemNote problem={problem} retry={reload} />
          </div>
        ) : (
          <Waiting />
        )}
      </Card>
    )
  const { body: webhook, etag } = data
  return (
    <div class="stack">
      <Card
        title={new URL(webhook.url).host}
        actions={
          <>
            <WebhookState webhook={webhook} />
            {close}
          </>
        }
      >
        <div class="body stack">
          {webhook.disabledReason && (
            <Note tone="warn">{t.reasons[webhook.disabledReason] ?? webhook.disabledReason}</Note>
          )}
          <dl class="facts">
            <dt>{t.url}</dt>
            <dd>
              <code>{webhook.url}</code>
            </dd>
            <dt>{t.types}</dt>
            <dd>
              {webhook.types.join(', ')} · {webhook.everyone ? t.everyone : t.own}
            </dd>
            {webhook.owner && (
              <>
                <dt>{t.owner}</dt>
                <dd title={webhook.owner}>{caller(webhook.owner)}</dd>
              </>
            )}
          </dl>
          {may('admin') && <WebhookActions webhook={webhook} etag={etag} changed={again} />}
        </div>
      </Card>
      <DeliveryList webhook={webhook} turn={turn} />
    </div>
  )
}

interface ActionsProps {
  readonly webhook: Webhook
  readonly etag: string | null
  changed(): void
}

function WebhookActions({ webhook, etag, changed }: ActionsProps) {
  const [problem, setProblem] = useState<Problem>()
  const [isAsking, setAsking] = useState(false)
  const [rotated, setRotated] = useState<{ secret: string; previousUntil: string }>()
  const path = `api/webhook/${webhook.id}`
  const run = async (work: () => Promise<void>) => {
    setProblem(undefined)
    try {
      await work()
    } catch (error) {
      setProblem(toProblem(error))
    }
    changed()
  }
  const rotate = () =>
    run(async () => {
      setAsking(false)
      setRotated(
        (await request<{ secret: string; previousUntil: string }>(`${path}/secret`, { method: 'POST' })).body,
      )
    })
  const test = () =>
    run(async () => {
      await request(`${path}/test`, { method: 'POST' })
      toast(t.tested)
    })
  const enable = (enabled: boolean) =>
    run(async () => {
      await request(path, { method: 'PATCH', body: { enabled }, ...(etag && { ifMatch: etag }) })
    })
  return (
    <>
      <div class="actions">
        <button type="button" class="button" disabled={!webhook.enabled} onClick={() => void test()}>
          {t.test}
        </button>
        <button type="button" class="button" onClick={() => void enable(!webhook.enabled)}>
          {webhook.enabled ? t.disable : t.enable}
        </button>
        <button type="button" class="button" aria-expanded={isAsking} onClick={() => setAsking(!isAsking)}>
          {t.rotate}
        </button>
      </div>
      {isAsking && (
        <Note
          tone="warn"
          action={
            <button type="button" class="button main" onClick={() => void rotate()}>
              {t.rotate}
            </button>
          }
        >
          {t.rotateAsk}
        </Note>
      )}
      {rotated && (
        <Note tone="ok">
          <p class="strong">{t.rotated}</p>
          <Command text={rotated.secret} />
          <p class="small">
            {t.previousUntil} {fullTime(rotated.previousUntil)}
          </p>
        </Note>
      )}
      {problem && <ProblemNote problem={problem} />}
    </>
  )
}
