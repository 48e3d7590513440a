import { useState } from 'preact/hooks'
import { get, type Problem } from '../api.ts'
import { bytes, count } from '../format.ts'
import { toProblem } from '../load.ts'
import { href } from '../route.ts'
import { texts } from '../texts.ts'
import { Card, Note, ProblemNote, Waiting } from '../ui/parts.tsx'

const t = texts.now.usage

/** Of a core, and of the heap per second; null if it cannot be measured. */
interface Taken {
  readonly cpu: number | null
  readonly allocated: number | null
}

/** A part of what `app module-list --usage --json` prints. */
interface Measured {
  readonly modules: readonly {
    readonly id: string
    readonly usage: (Taken & { readonly inProgress: number; readonly connections: number }) | null
  }[]
  readonly measured: {
    readonly seconds: number
    readonly processes: number
    readonly host: Taken
    readonly idle: number
    readonly garbageCollection: number
  } | null
}

const share = (of: number | null) => (of === null ? '—' : `${(of * 100).toFixed(of < 0.1 ? 1 : 0)} %`)
const perSecond = (of: number | null) => (of === null ? '—' : `${bytes(of)}${texts.now.perSecond}`)

/** Which module takes the processor, and which fills the memory: measured when somebody asks. */
export function Usage() {
  const [data, setData] = useState<Measured>()
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const measure = async () => {
    setBusy(true)
    setProblem(undefined)
    try {
      setData(await get<Measured>('operator/module-list?usage=true'))
    } catch (error) {
      setProblem(toProblem(error))
    }
    setBusy(false)
  }
  return (
    <Card
      title={t.title}
      actions={
        <button type="button" class="button" disabled={isBusy} onClick={() => void measure()}>
          {isBusy ? t.measuring : t.measure}
        </button>
      }
    >
      {problem && (
        <div class="body">
          <ProblemNote problem={problem} />
        </div>
      )}
      {isBusy && <Waiting />}
      {!isBusy && !data && !problem && <p class="body muted">{t.lead}</p>}
      {!isBusy &&
        data &&
        (data.measured ? <Table data={data} of={data.measured} /> : <Note>{t.debugged}</Note>)}
    </Card>
  )
}

function Table({ data, of }: { readonly data: Measured; readonly of: NonNullable<Measured['measured']> }) {
  const rows = data.modules.flatMap(({ id, usage }) => (usage === null ? [] : [{ id, ...usage }]))
  const busiestFirst = rows.toSorted((one, other) => (other.cpu ?? 0) - (one.cpu ?? 0))
  return (
    <>
      <table>
        <thead>
          <tr>
            <th>{t.module}</th>
            <th class="right">{t.cpu}</th>
            <th class="right">{t.allocated}</th>
            <th class="c-md right">{t.inProgress}</th>
            <th class="c-md right">{t.connections}</th>
          </tr>
        </thead>
        <tbody>
          {busiestFirst.map(({ id, cpu, allocated, inProgress, connections }) => (
            <tr key={id}>
              <td>
                <a href={href('modules', id)}>{id}</a>
              </td>
              <td class="right">{share(cpu)}</td>
              <td class="right">{perSecond(allocated)}</td>
              <td class="c-md right">{count(inProgress)}</td>
              <td class="c-md right">{count(connections)}</td>
            </tr>
          ))}
          <tr>
            <td class="muted">{t.host}</td>
            <td class="right">{share(of.host.cpu)}</td>
            <td class="right">{perSecond(of.host.allocated)}</td>
            <td class="c-md" />
            <td class="c-md" />
          </tr>
        </tbody>
      </table>
      <p class="body small muted">
        {t.summary(of.seconds, of.processes, share(of.idle), share(of.garbageCollection))}
      </p>
    </>
  )
}
