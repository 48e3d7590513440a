import { get } from '../api.ts'
import { useLoad } from '../load.ts'
import { texts } from '../texts.ts'
import { Empty, Head, ProblemNote, WaitingCard } from '../ui/parts.tsx'
import { Chart } from './chart.tsx'
import { chartsOf, type Now as Ring, tilesOf } from './now-charts.ts'
import { Usage } from './usage.tsx'

const t = texts.now

export default function Now() {
  const { data, problem, reload } = useLoad((signal) => get<Ring>('now', signal), [], 10)
  return (
    <>
      <Head title={t.title} lead={t.lead} />
      {problem && <ProblemNote problem={problem} retry={reload} />}
      {!data && !problem && <WaitingCard />}
      {data && data.samples.length === 0 && (
        <div class="card">
          <Empty icon="now" title={t.empty}>
            {t.emptyText}
          </Empty>
        </div>
      )}
      {data && data.samples.length > 0 && <Charts ring={data} />}
      <Usage />
    </>
  )
}

function Charts({ ring }: { readonly ring: Ring }) {
  const times = ring.samples.map(({ at }) => Date.parse(at) / 1000)
  return (
    <>
      <dl class="tiles">
        {tilesOf(ring).map(({ name, value, unit }) => (
          <div class="tile" key={name}>
            <dt>{name}</dt>
            <dd>
              {value} {unit && <small>{unit}</small>}
            </dd>
          </div>
        ))}
      </dl>
      <div class="charts">
        {chartsOf(ring).map((chart) => (
          <Chart key={chart.title} chart={chart} times={times} />
        ))}
      </div>
    </>
  )
}
