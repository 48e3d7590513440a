import { useState } from 'preact/hooks'
import { get, query } from '../api.ts'
import { useLoad } from '../load.ts'
import { texts } from '../texts.ts'
import { Badge, Command, Empty, ProblemNote, Waiting } from '../ui/parts.tsx'
import type { Finding } from './module.ts'

const t = texts.modules.health
const tones = { error: 'bad', warning: 'warn', info: 'info' } as const

/** What the doctor finds, and what to do about it. A check of all rows takes as long as reading the database. */
export function Health({ turn }: { readonly turn: number }) {
  const [isWhole, setWhole] = useState(false)
  const whole = isWhole ? 'true' : undefined
  const { data, problem, reload } = useLoad(
    (signal) => get<{ findings: readonly Finding[] }>(`operator/doctor${query({ whole })}`, signal),
    [turn, isWhole],
    undefined,
    isWhole ? undefined : 'health',
  )
  return (
    <div class="stack">
      <p class="muted">{t.lead}</p>
      {problem && <ProblemNote problem={problem} retry={reload} />}
      <div class="card">
        {!data && !problem && isWhole && <p class="body muted">{t.wholeRuns}</p>}
        {!data && !problem && <Waiting />}
        {data?.findings.length === 0 && (
          <Empty icon="check" title={t.fine}>
            {t.fineText}
          </Empty>
        )}
        {data && data.findings.length > 0 && (
          <ul>
            {data.findings.map(({ id, severity, message, hint }) => (
              <li class="finding" key={`${id} ${message}`}>
                <Badge tone={tones[severity]}>{t.severity[severity]}</Badge>
                <div class="wrap">
                  <p>{message}</p>
                  <p class="muted">{hint}</p>
                </div>
              </li>
            ))}
          </ul>
        )}
      </div>
      {data && !isWhole && (
        <div class="stack tight">
          <p class="muted">{t.quick}</p>
          <p>
            <button type="button" class="button" onClick={() => setWhole(true)}>
              {t.whole}
            </button>
          </p>
        </div>
      )}
      {data && data.findings.length > 0 && (
        <div class="stack tight">
          <p>{t.fix}</p>
          <Command text="app doctor --fix" />
        </div>
      )}
    </div>
  )
}
