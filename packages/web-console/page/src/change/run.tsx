import { useEffect, useState } from 'preact/hooks'
import { get, Problem, readSession } from '../api.ts'
import { toProblem } from '../load.ts'
import { texts } from '../texts.ts'
import { Window } from '../ui/dialog.tsx'
import { Badge, Json, Note, ProblemNote } from '../ui/parts.tsx'

const t = texts.changes

interface Progress {
  readonly state: 'running' | 'done' | 'failed'
  readonly lines: readonly string[]
  readonly result?: unknown
  readonly problem?: Partial<Problem>
  readonly watch?: { readonly state: string; readonly reason?: string | null }
}

/** Follows a change until it has ended and settled. A switch of generations interrupts requests of the page for a moment. */
export function Run({ id, title, close }: { readonly id: string; readonly title: string; close(): void }) {
  const [progress, setProgress] = useState<Progress>()
  const [problem, setProblem] = useState<Problem>()
  useEffect(() => {
    let isOpen = true
    let misses = 0
    const read = async (): Promise<void> => {
      try {
        const found = await get<Progress>(`operator/change/${id}`)
        misses = 0
        if (!isOpen) return
        setProgress(found)
        setProblem(undefined)
        if (found.state !== 'running' && found.watch?.state !== 'watching') {
          void readSession().catch(() => undefined)
          return
        }
      } catch (error) {
        if (!isOpen) return
        misses += 1
        if (misses > 20) return setProblem(toProblem(error))
      }
      setTimeout(() => isOpen && void read(), 700)
    }
    void read()
    return () => {
      isOpen = false
    }
  }, [id])
  const { state = 'running', lines = [], result, watch } = progress ?? {}
  return (
    <Window
      title={title}
      close={close}
      footer={
        <button type="button" class="button main" onClick={close}>
          {texts.close}
        </button>
      }
    >
      <ol class="steps" aria-live="polite">
        <li>
          <Step state={state === 'running' ? 'running' : state === 'done' ? 'done' : 'failed'} />
          {state === 'running' ? t.running : state === 'done' ? t.serves : t.failed}
        </li>
        {watch && (
          <li>
            <Step state={watch.state === 'watching' ? 'running' : watch.state === 'settled' ? 'done' : 'failed'} />
            <span>
              {watch.state === 'watching' ? t.watching : watch.state === 'settled' ? t.settled : t.reverted}
              <span class="small muted block">
                {watch.state === 'watching' ? t.watchingLead : (watch.reason ?? '')}
              </span>
            </span>
          </li>
        )}
      </ol>
      {progress?.problem && <ProblemNote problem={new Problem(409, progress.problem)} />}
      {problem && <ProblemNote problem={problem} />}
      {lines.length > 0 && (
        <details open={state === 'failed'}>
          <summary>{t.log}</summary>
          <pre>{lines.join('\n')}</pre>
        </details>
      )}
      {result !== undefined && result !== null && (
        <details>
          <summary class="small muted">JSON</summary>
          <Json value={result} />
        </details>
      )}
      {watch && watch.state !== 'watching' && watch.state !== 'settled' && (
        <Note tone="bad">
          <p class="strong">{t.reverted}</p>
          {watch.reason && <p>{watch.reason}</p>}
        </Note>
      )}
    </Window>
  )
}

const Step = ({ state }: { readonly state: 'running' | 'done' | 'failed' }) => (
  <Badge tone={state === 'done' ? 'ok' : state === 'failed' ? 'bad' : 'info'}>
    {state === 'running' ? texts.changes.running : state === 'done' ? texts.changes.done : texts.jobs.failed}
  </Badge>
)
