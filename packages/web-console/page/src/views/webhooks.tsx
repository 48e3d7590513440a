import { get, may, query } from '../api.ts'
import { caller } from '../format.ts'
import { useLoad } from '../load.ts'
import { href, route } from '../route.ts'
import { texts } from '../texts.ts'
import { Empty, Head, ProblemNote, Time, Waiting } from '../ui/parts.tsx'
import { Split } from '../ui/split.tsx'
import type { Webhook } from './webhook.ts'
import { WebhookPane } from './webhook-pane.tsx'
import { WebhookState } from './webhook-state.tsx'

const t = texts.webhooks

export default function Webhooks() {
  const id = route.value.path[1]
  const { data, problem, reload } = useLoad(
    (signal) =>
      get<{ data: readonly Webhook[] }>(
        `api/webhook${query({ rpp: 100, owner: may('admin') ? '*' : undefined })}`,
        signal,
      ),
    [],
    15,
  )
  return (
    <>
      <Head title={t.title} />
      {problem && <ProblemNote problem={problem} retry={reload} />}
      <Split
        list={
          <div class="card">
            {!data && !problem && <Waiting />}
            {data?.data.length === 0 && (
              <Empty icon="webhooks" title={t.empty}>
                {t.emptyText}
              </Empty>
            )}
            {data && data.data.length > 0 && <Table webhooks={data.data} chosen={id} />}
          </div>
        }
        pane={id && <WebhookPane key={id} id={id} changed={reload} />}
      />
    </>
  )
}

const Table = ({
  webhooks,
  chosen,
}: {
  readonly webhooks: readonly Webhook[]
  readonly chosen: string | undefined
}) => (
  <table class="rows">
    <thead>
      <tr>
        <th>{t.url}</th>
        <th>{t.state}</th>
        <th class="c-lg">{t.types}</th>
        <th class="c-md">{t.owner}</th>
        <th class="c-lg right">{texts.purchases.created}</th>
      </tr>
    </thead>
    <tbody>
      {webhooks.map((webhook) => (
        <tr key={webhook.id} class={webhook.id === chosen ? 'chosen' : undefined}>
          <td>
            <a class="open wrap" href={href('webhooks', webhook.id)}>
              {webhook.url}
            </a>
            {webhook.description && <div class="small muted">{webhook.description}</div>}
          </td>
          <td>
            <WebhookState webhook={webhook} />
          </td>
          <td class="c-lg">
            <span class="chips">
              {webhook.types.map((type) => (
                <span class="chip" key={type}>
                  {type}
                </span>
              ))}
            </span>
          </td>
          <td class="c-md muted cut" title={webhook.owner}>
            {webhook.owner ? caller(webhook.owner) : '—'}
          </td>
          <td class="c-lg right muted">
            <Time at={webhook.createdAt} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)
