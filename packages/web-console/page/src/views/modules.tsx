import { useState } from 'preact/hooks'
import { type Change, ChangeWindow } from '../change/change-window.tsx'
import { href, route } from '../route.ts'
import { texts } from '../texts.ts'
import { Head } from '../ui/parts.tsx'
import { Browse } from './browse.tsx'
import { Generations } from './generations.tsx'
import { Health } from './health.tsx'
import { InstalledList } from './installed-list.tsx'
import { ModuleDetail } from './module-detail.tsx'

const t = texts.modules
const tabs = ['installed', 'browse', 'generations', 'health'] as const

/** `/modules`, `/modules/-/browse`, `/modules/<id>`: no id of a module is `-`. */
export default function Modules() {
  const { path } = route.value
  const [change, setChange] = useState<Change>()
  const [turn, setTurn] = useState(0)
  const isTab = path[1] === undefined || path[1] === '-'
  const tab = tabs.find((name) => name === path[2]) ?? 'installed'
  return (
    <>
      {isTab ? (
        <>
          <Head title={t.title}>
            <nav class="choices" aria-label={t.title}>
              {tabs.map((name) => (
                <a
                  key={name}
                  href={name === 'installed' ? href('modules') : href('modules', '-', name)}
                  aria-current={name === tab ? 'page' : undefined}
                >
                  {t.tabs[name]}
                </a>
              ))}
            </nav>
          </Head>
          {tab === 'installed' && <InstalledList turn={turn} change={setChange} />}
          {tab === 'browse' && <Browse turn={turn} change={setChange} />}
          {tab === 'generations' && <Generations turn={turn} change={setChange} />}
          {tab === 'health' && <Health turn={turn} />}
        </>
      ) : (
        <ModuleDetail key={path[1]} id={path[1] ?? ''} turn={turn} change={setChange} />
      )}
      {change && (
        <ChangeWindow
          change={change}
          close={() => {
            setChange(undefined)
            setTurn(turn + 1)
          }}
        />
      )}
    </>
  )
}
