import { get, may } from '../api.ts'
import type { Change } from '../change/change-window.tsx'
import { useLoad } from '../load.ts'
import { texts } from '../texts.ts'
import { Badge, ProblemNote, Time, Waiting } from '../ui/parts.tsx'
import type { Generation } from './module.ts'

const t = texts.modules.generations

interface Props {
  readonly turn: number
  change(change: Change): void
}

/** The timeline of changes, newest first. */
export function Generations({ turn, change }: Props) {
  const { data, problem, reload } = useLoad(
    (signal) => get<{ generations: readonly Generation[] }>('operator/module-history', signal),
    [turn],
    undefined,
    'generations',
  )
  return (
    <>
      <p class="muted under">{t.lead}</p>
      {problem && <ProblemNote problem={problem} retry={reload} />}
      <div class="card">
        {!data && !problem && <Waiting />}
        {data && (
          <div class="body">
            <ol class="timeline">
              {data.generations.toReversed().map((one) => (
                <li key={one.generation} class={one.present ? 'present' : undefined}>
                  <span>
                    <span class="strong">{t.title(one.generation)}</span>{' '}
                    {one.present && (
                      <Badge tone="accent" bare>
                        {t.present}
                      </Badge>
                    )}
                  </span>
                  <span class="when">
                    <Time at={one.at} />
                  </span>
                  <span class="what">
                    <code class="muted">app {one.command}</code>
                  </span>
                  <span class="what">
                    {one.changes.length === 0 && <span class="muted">{t.nothing}</span>}
                    {one.changes.map((text) => (
                      <span class="chip" key={text}>
                        {text}
                      </span>
                    ))}
                    {!one.present && may('admin') && (
                      <button
                        type="button"
                        class="button tiny"
                        aria-label={t.rollBackTo(one.generation)}
                        onClick={() =>
                          change({
                            title: t.rollBackTo(one.generation),
                            command: 'module-rollback',
                            args: [String(one.generation)],
                          })
                        }
                      >
                        {t.rollBack}
                      </button>
                    )}
                  </span>
                </li>
              ))}
            </ol>
          </div>
        )}
      </div>
    </>
  )
}
