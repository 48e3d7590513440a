import { useState } from 'preact/hooks'
import { get, may } from '../api.ts'
import { type Change, ChangeWindow } from '../change/change-window.tsx'
import { count, shortId } from '../format.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { texts } from '../texts.ts'
import { Badge, Card, Empty, Head, ProblemNote, WaitingCard } from '../ui/parts.tsx'

const t = texts.jobs

interface Work {
  readonly works: readonly {
    readonly module: string
    readonly work: string
    readonly waiting: number
    readonly running: number
    readonly failed: number
  }[]
  readonly failed: readonly Failed[]
}

interface Handlers {
  readonly subscriptions: readonly {
    readonly module: string
    readonly behind: number
    readonly waiting: number
    readonly dead: number
  }[]
  readonly failed: readonly (Omit<Failed, 'id' | 'work'> & {
    readonly event: string
    readonly type: string
  })[]
}

interface Failed {
  readonly id: string
  readonly module: string
  readonly work: string
  readonly attempts: number
  readonly error: string
}

export default function Jobs() {
  const [change, setChange] = useState<Change>()
  const { data, problem, reload } = useLoad(
    async (signal) => {
      const [work, events] = await Promise.all([
        get<Work>('operator/work', signal),
        get<Handlers>('operator/events', signal),
      ])
      return { work, events }
    },
    [],
    20,
    'jobs',
  )
  return (
    <>
      <Head title={t.title} lead={t.lead} />
      {problem && <ProblemNote problem={problem} retry={reload} />}
      {!data && !problem && <WaitingCard />}
      {data && (
        <div class="stack">
          <Kinds works={data.work.works} />
          {data.work.failed.length > 0 && (
            <Failures
              title={t.failures}
              rows={data.work.failed.map(({ id, module, work, ...rest }) => ({
                ...rest,
                id,
                what: `${module}/${work}`,
              }))}
              replay={(id) => setChange({ command: 'work-replay', args: [id], title: t.replayTitle(id) })}
              discard={(id) => setChange({ command: 'work-discard', args: [id], title: t.discardTitle(id) })}
            />
          )}
          <HandlersCard handlers={data.events.subscriptions} />
          {data.events.failed.length > 0 && (
            <Failures
              title={t.letters}
              rows={data.events.failed.map(({ event, type, module, ...rest }) => ({
                ...rest,
                id: event,
                what: `${module}: ${type}`,
              }))}
              replay={(id) => setChange({ command: 'events-replay', args: [id], title: t.replayTitle(id) })}
              discard={(id) =>
                setChange({ command: 'events-discard', args: [id], title: t.discardTitle(id) })
              }
            />
          )}
        </div>
      )}
      {change && (
        <ChangeWindow
          change={change}
          close={() => {
            setChange(undefined)
            reload()
          }}
        />
      )}
    </>
  )
}

const Count = ({ of, bad }: { readonly of: number; readonly bad?: boolean }) =>
  of > 0 && bad ? (
    <Badge tone="bad" bare>
      {count(of)}
    </Badge>
  ) : (
    <span class={of === 0 ? 'muted' : undefined}>{count(of)}</span>
  )

const Kinds = ({ works }: { readonly works: Work['works'] }) => (
  <Card title={t.kinds}>
    {works.length === 0 ? (
      <Empty icon="jobs" title={t.empty}>
        {t.emptyText}
      </Empty>
    ) : (
      <table>
        <thead>
          <tr>
            <th>{t.job}</th>
            <th class="right">{t.waiting}</th>
            <th class="right">{t.running}</th>
            <th class="right">{t.failed}</th>
          </tr>
        </thead>
        <tbody>
          {works.map(({ module, work, waiting, running, failed }) => (
            <tr key={`${module}/${work}`}>
              <td>
                <a href={href('modules', module)}>{module}</a> / {work}
              </td>
              <td class="right">
                <Count of={waiting} />
              </td>
              <td class="right">
                <Count of={running} />
              </td>
              <td class="right">
                <Count of={failed} bad />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </Card>
)

const HandlersCard = ({ handlers }: { readonly handlers: Handlers['subscriptions'] }) => (
  <Card title={t.handlers}>
    {handlers.length === 0 ? (
      <Empty icon="events">{t.handlersEmpty}</Empty>
    ) : (
      <table>
        <thead>
          <tr>
            <th>{t.module}</th>
            <th class="right">{t.behind}</th>
            <th class="right">{t.waiting}</th>
            <th class="right">{t.dead}</th>
          </tr>
        </thead>
        <tbody>
          {handlers.map(({ module, behind, waiting, dead }) => (
            <tr key={module}>
              <td>
                <a href={href('modules', module)}>{module}</a>
              </td>
              <td class="right">
                <Count of={behind} />
              </td>
              <td class="right">
                <Count of={waiting} />
              </td>
              <td class="right">
                <Count of={dead} bad />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </Card>
)

interface FailuresProps {
  readonly title: string
  readonly rows: readonly {
    readonly id: string
    readonly what: string
    readonly attempts: number
    readonly error: string
  }[]
  replay(id: string): void
  discard(id: string): void
}

const Failures = ({ title, rows, replay, discard }: FailuresProps) => (
  <Card title={title}>
    <table>
      <thead>
        <tr>
          <th>{t.job}</th>
          <th class="c-md right">{t.attempts}</th>
          <th>{t.error}</th>
          <th />
        </tr>
      </thead>
      <tbody>
        {rows.map(({ id, what, attempts, error }) => (
          <tr key={id}>
            <td>
              {what}
              <div class="small muted" title={id}>
                <code>{shortId(id)}</code>
              </div>
            </td>
            <td class="c-md right">{count(attempts)}</td>
            <td class="wrap">{error}</td>
            <td class="right">
              {may('admin') && (
                <span class="actions">
                  <button type="button" class="button tiny" onClick={() => replay(id)}>
                    {t.replay}
                  </button>
                  <button type="button" class="button tiny bad" onClick={() => discard(id)}>
                    {t.discard}
                  </button>
                </span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Card>
)
