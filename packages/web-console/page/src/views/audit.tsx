import { useState } from 'preact/hooks'
import { may, type Problem } from '../api.ts'
import { caller, fullTime, shortId } from '../format.ts'
import { toProblem, useLoad } from '../load.ts'
import { href, route, setQuery } from '../route.ts'
import { endAllSessions } from '../sign-out.ts'
import { texts } from '../texts.ts'
import { Window } from '../ui/dialog.tsx'
import { Badge, Card, Empty, Head, Json, ProblemNote, Time, Waiting } from '../ui/parts.tsx'
import { ClosePane, Split } from '../ui/split.tsx'
import { type AuditRecord, readAudit } from './audit-records.ts'

const t = texts.audit
const ROWS = 50

export default function Audit() {
  const { path, query: chosen } = route.value
  const { before } = chosen
  const [words, setWords] = useState('')
  const { data, problem, reload } = useLoad(
    (signal) => readAudit({ limit: ROWS, before }, signal),
    [before],
    before ? undefined : 10,
    before ? undefined : 'audit',
  )
  const shown = data?.filter(({ actor, action, object }) =>
    `${actor} ${action} ${object}`.toLowerCase().includes(words.toLowerCase()),
  )
  const open = data?.find(({ seq }) => String(seq) === path[1])
  return (
    <>
      <Head title={t.title} lead={t.lead}>
        {may('admin') && <EndSessions />}
      </Head>
      <div class="tools">
        <input
          class="input"
          type="search"
          aria-label={t.filterLabel}
          placeholder={t.filterPlaceholder}
          data-find
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </div>
      {problem && <ProblemNote problem={problem} retry={reload} />}
      <Split
        list={
          <div class="card">
            {!shown && !problem && <Waiting />}
            {shown?.length === 0 && (
              <Empty icon="audit" title={t.empty}>
                {t.emptyText}
              </Empty>
            )}
            {shown && shown.length > 0 && <Table records={shown} chosen={path[1]} />}
            {data && (before || data.length === ROWS) && (
              <div class="foot">
                <span />
                <span class="actions">
                  {before && (
                    <button type="button" class="button tiny" onClick={() => setQuery({ before: undefined })}>
                      {t.newest}
                    </button>
                  )}
                  <button
                    type="button"
                    class="button tiny"
                    disabled={data.length < ROWS}
                    onClick={() => setQuery({ before: String(data.at(-1)?.seq) }, { replace: false })}
                  >
                    {t.older}
                  </button>
                </span>
              </div>
            )}
          </div>
        }
        pane={open && <Pane record={open} />}
      />
    </>
  )
}

const Outcome = ({ outcome }: { readonly outcome: string }) => (
  <Badge tone={outcome === 'done' ? 'ok' : /revert|fail|refus/.test(outcome) ? 'bad' : 'idle'}>
    {outcome}
  </Badge>
)

const Table = ({
  records,
  chosen,
}: {
  readonly records: readonly AuditRecord[]
  readonly chosen: string | undefined
}) => (
  <table class="rows">
    <thead>
      <tr>
        <th>{t.action}</th>
        <th>{t.object}</th>
        <th class="c-md">{t.actor}</th>
        <th class="c-md">{t.outcome}</th>
        <th class="right">{t.time}</th>
      </tr>
    </thead>
    <tbody>
      {records.map((record) => (
        <tr key={record.seq} class={String(record.seq) === chosen ? 'chosen' : undefined}>
          <td>
            <a class="open" href={href('audit', String(record.seq)) + location.search}>
              {record.action}
            </a>
          </td>
          <td class="wrap" title={record.object}>
            {shortId(record.object)}
          </td>
          <td class="c-md muted cut" title={record.actor}>
            {caller(record.actor)}
          </td>
          <td class="c-md">
            <Outcome outcome={record.outcome} />
          </td>
          <td class="right muted">
            <Time at={record.at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

const Pane = ({ record }: { readonly record: AuditRecord }) => (
  <Card title={record.action} actions={<ClosePane to={href('audit') + location.search} />}>
    <div class="body stack">
      <dl class="facts">
        <dt>{t.time}</dt>
        <dd>{fullTime(record.at)}</dd>
        <dt>{t.actor}</dt>
        <dd>{record.actor}</dd>
        <dt>{t.object}</dt>
        <dd>{record.object}</dd>
        <dt>{t.outcome}</dt>
        <dd>
          <Outcome outcome={record.outcome} />
        </dd>
        {record.requestId && (
          <>
            <dt>{texts.requestId}</dt>
            <dd>
              <code>{record.requestId}</code>
            </dd>
          </>
        )}
      </dl>
      <h3>{t.details}</h3>
      <Json value={record.details} />
    </div>
  </Card>
)

function EndSessions() {
  const [isOpen, setOpen] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  const title = texts.session.endAll
  const end = () => endAllSessions().catch((error) => setProblem(toProblem(error)))
  return (
    <>
      <button type="button" class="button" onClick={() => setOpen(true)}>
        {title}
      </button>
      {isOpen && (
        <Window
          title={title}
          close={() => setOpen(false)}
          footer={
            <button type="button" class="button main" onClick={end}>
              {title}
            </button>
          }
        >
          {problem ? <ProblemNote problem={problem} /> : <p>{texts.session.endAllLead}</p>}
        </Window>
      )}
    </>
  )
}
