import { get, may } from '../api.ts'
import type { Change } from '../change/change-window.tsx'
import { Chips } from '../change/plan-view.tsx'
import { bytes } from '../format.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { texts } from '../texts.ts'
import { Badge, Card, Copy, Head, Method, Note, ProblemNote, WaitingCard } from '../ui/parts.tsx'
import { type Installed, useModules } from './module.ts'
import { State } from './module-state.tsx'
import { Settings } from './settings.tsx'

const t = texts.modules
const d = t.detail

interface Info {
  readonly id: string
  readonly package: string
  readonly version: string
  readonly routes: readonly string[]
  readonly access: Readonly<Record<string, unknown>>
  readonly schema: readonly {
    readonly name: string
    readonly columns: readonly { readonly name: string; readonly type: string; readonly required: boolean }[]
  }[]
  readonly events: readonly string[]
  readonly provides: Readonly<Record<string, unknown>>
  readonly requires: Readonly<Record<string, unknown>>
  readonly optional: Readonly<Record<string, unknown>>
  readonly license: string | null
  readonly origin: string
  readonly bytes: number
  readonly integrity: string | null
  readonly operator?: boolean
}

interface Props {
  readonly id: string
  readonly turn: number
  change(change: Change): void
}

export function ModuleDetail({ id, turn, change }: Props) {
  const {
    data: info,
    problem,
    reload,
  } = useLoad(
    (signal) => get<Info>(`operator/module-info/${id}`, signal),
    [id, turn],
    undefined,
    `info ${id}`,
  )
  const list = useModules(turn)
  const module = list.data?.modules.find((one) => one.id === id)
  return (
    <>
      <Head
        above={
          <nav class="crumbs" aria-label={texts.menu}>
            <a href={href('modules')}>{t.title}</a> / {id}
          </nav>
        }
        title={id}
        lead={
          module && (
            <>
              {module.version} <State module={module} />
            </>
          )
        }
      >
        {module && may('admin') && <Actions module={module} change={change} />}
      </Head>
      <div class="stack">
        {module?.reason && (
          <Note tone="warn">
            <p class="strong">{d.reason}</p>
            <p class="wrap">{module.reason}</p>
          </Note>
        )}
        {problem && <ProblemNote problem={problem} retry={reload} />}
        {(module ?? info) && (
          <div class="two">
            <div class="stack">
              <Settings id={id} turn={turn} change={change} />
              {info && <Routes info={info} />}
            </div>
            <div class="stack">
              {!info && !problem && <WaitingCard />}
              {info && <Overview info={info} />}
              {info && <Tables info={info} />}
            </div>
          </div>
        )}
        {!module && !info && !problem && <WaitingCard />}
      </div>
    </>
  )
}

function Actions({
  module: { id, state },
  change,
}: {
  readonly module: Installed
  change(change: Change): void
}) {
  const button = (label: string, command: string, options?: Change['options'], tone = '') => (
    <button
      type="button"
      class={`button ${tone}`}
      onClick={() => change({ title: `${label}: ${id}`, command, args: [id], ...(options && { options }) })}
    >
      {label}
    </button>
  )
  return (
    <>
      {button(t.upgrade, 'module-upgrade')}
      {state === 'active' && button(t.pause, 'module-pause', { for: '10m' })}
      {state === 'active' ? button(t.disable, 'module-disable') : button(t.enable, 'module-enable')}
      {button(t.remove, 'module-remove', undefined, 'bad')}
    </>
  )
}

const Routes = ({ info }: { readonly info: Info }) => (
  <Card title={d.routes}>
    {info.routes.length === 0 ? (
      <div class="body muted">{d.noRoutes}</div>
    ) : (
      <table>
        <thead>
          <tr>
            <th>{d.path}</th>
            <th class="right">{d.access}</th>
          </tr>
        </thead>
        <tbody>
          {info.routes.map((route) => (
            <tr key={route}>
              <td class="wrap">
                <Method route={route} />
              </td>
              <td class="right">
                <Access of={info.access[route]} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </Card>
)

const Access = ({ of }: { readonly of: unknown }) => (
  <Badge tone={of === 'public' ? 'info' : of === 'caller' ? 'idle' : 'accent'} bare>
    {typeof of === 'string' ? of : JSON.stringify(of)}
  </Badge>
)

const Overview = ({ info }: { readonly info: Info }) => (
  <Card title={d.overview}>
    <dl class="facts body">
      <dt>{d.package}</dt>
      <dd>
        <code>
          {info.package} {info.version}
        </code>
      </dd>
      <dt>{d.origin}</dt>
      <dd>
        <code>{info.origin}</code>
      </dd>
      {info.license && (
        <>
          <dt>{d.licence}</dt>
          <dd>{info.license}</dd>
        </>
      )}
      <dt>{d.size}</dt>
      <dd>{bytes(info.bytes)}</dd>
      {info.integrity && (
        <>
          <dt>{d.integrity}</dt>
          <dd>
            <code>{info.integrity.slice(0, 22)}…</code> <Copy text={info.integrity} />
          </dd>
        </>
      )}
      {info.events.length > 0 && (
        <>
          <dt>{d.events}</dt>
          <dd>
            <Chips items={info.events} />
          </dd>
        </>
      )}
      <Contracts name={d.provides} of={info.provides} />
      <Contracts name={d.uses} of={{ ...info.requires, ...info.optional }} />
    </dl>
    {info.operator && <Note tone="warn">{d.operator}</Note>}
  </Card>
)

const Contracts = ({
  name,
  of,
}: {
  readonly name: string
  readonly of: Readonly<Record<string, unknown>>
}) => {
  const entries = Object.entries(of)
  if (entries.length === 0) return null
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Chips items={entries.map(([contract, version]) => `${contract} ${String(version)}`)} />
      </dd>
    </>
  )
}

const Tables = ({ info }: { readonly info: Info }) => (
  <Card title={d.tables}>
    {info.schema.length === 0 && <div class="body muted">{d.noTables}</div>}
    {info.schema.map(({ name, columns }) => (
      <details class="columns" key={name}>
        <summary>
          <code class="strong">{name}</code> <span class="small muted">{columns.length}</span>
        </summary>
        <table>
          <thead>
            <tr>
              <th>{d.column}</th>
              <th>{d.type}</th>
            </tr>
          </thead>
          <tbody>
            {columns.map((column) => (
              <tr key={column.name}>
                <td>
                  <code>{column.name}</code>
                </td>
                <td class="muted">
                  {column.type}
                  {column.required && ` · ${d.required}`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    ))}
  </Card>
)
