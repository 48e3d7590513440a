import { get } from '../api.ts'
import type { Change } from '../change/change-window.tsx'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { texts } from '../texts.ts'
import { Empty, ProblemNote, Waiting } from '../ui/parts.tsx'
import { type Installed, type Modules, useModules } from './module.ts'
import { State } from './module-state.tsx'

const t = texts.modules

interface Props {
  readonly turn: number
  change(change: Change): void
}

/** A source that is slow to say what is newer keeps nobody waiting. */
export function InstalledList({ turn, change }: Props) {
  const { data, problem, reload } = useModules(turn)
  const newer = useLoad(
    (signal) => get<Modules>('operator/module-list?outdated=true', signal),
    [turn],
    undefined,
    'newer',
  )
  return (
    <div class="card">
      {problem && <ProblemNote problem={problem} retry={reload} />}
      {!data && !problem && <Waiting />}
      {data?.modules.length === 0 && (
        <Empty icon="modules" title={t.empty}>
          {t.emptyText} <a href={href('modules', '-', 'browse')}>{t.tabs.browse}</a>
        </Empty>
      )}
      {data && data.modules.length > 0 && (
        <table class="rows">
          <thead>
            <tr>
              <th>{t.name}</th>
              <th>{t.version}</th>
              <th>{t.state}</th>
              <th class="c-md right">{t.routes}</th>
            </tr>
          </thead>
          <tbody>
            {data.modules.map((module) => (
              <Row
                key={module.id}
                module={module}
                newer={newer.data?.modules.find(({ id, outdated }) => id === module.id && outdated)}
                change={change}
              />
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}

interface RowProps {
  readonly module: Installed
  readonly newer: Installed | undefined
  change(change: Change): void
}

const Row = ({ module, newer, change }: RowProps) => (
  <tr>
    <td>
      <a class="open" href={href('modules', module.id)}>
        {module.id}
      </a>
      <div class="small muted wrap">
        <code>{module.package}</code>
      </div>
    </td>
    <td>
      {module.version}{' '}
      {newer?.latest && (
        <button
          type="button"
          class="button tiny"
          onClick={() =>
            change({ title: `${t.upgrade}: ${module.id}`, command: 'module-upgrade', args: [module.id] })
          }
        >
          {t.update(newer.latest)}
        </button>
      )}
    </td>
    <td>
      <State module={module} />
      {module.reason && <div class="small muted wrap">{module.reason}</div>}
    </td>
    <td class="c-md right muted">{module.routes.length}</td>
  </tr>
)
