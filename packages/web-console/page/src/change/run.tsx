import { useEffect, useState } from 'preact/hooks'
import { get, type Problem, readSession } from '../api.ts'
import { toProblem } from '../load.ts'
import { texts } from '../texts.ts'
import { Window } from '../ui/dialog.tsx'
import { Json, Note, ProblemNote } from '../ui/parts.tsx'

const t = texts.changes

interface Progress {
  readonly state: 'running' | 'done' | 'failed'
  readonly lines: readonly string[]
  readonly result?: unknown
  readonly problem?: {
    readonly code: string
    readonly message: string
    readonly hint?: string
    readonly exitCode?: number
  }
  /** Whether the change has settled; false while the host still watches it. */
  readonly watch?: boolean
}

/** The exit code of a change that the host took back. */
const REVERTED = 5

/** Follows a change to its end. The switch of generations may interrupt a request of the page. */
export function Run({ id, title, close }: { readonly id: string; readonly title: string; close(): void }) {
  const [progress, setProgress] = useState<Progress>()
  const [problem, setProblem] = useState<Problem>()
  useEffect(() => {
    let isOpen = true
    let misses = 0
    const read = async (): Promise<void> => {
      try {
        const found = await get<Progress>(`operator/change/${id}`)
        // What the change has brought appears while it is watched.
        await readSession().catch(() => undefined)
        misses = 0
        if (!isOpen) return
        setProgress(found)
        if (found.state !== 'running') return
      } catch (error) {
        misses += 1
        if (isOpen && misses > 20) return setProblem(toProblem(error))
      }
      setTimeout(() => isOpen && void read(), 700)
    }
    void read()
    return () => {
      isOpen = false
    }
  }, [id])
  const { state = 'running', lines = [], result, watch, problem: failure } = progress ?? {}
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
      <div class="steps" aria-live="polite">
        {state === 'running' && (
          <Note icon="refresh">
            <p class="strong">{t.running}</p>
            <p>{t.watchingLead}</p>
            {lines.length > 0 && <p class="small muted wrap">{lines.at(-1)}</p>}
          </Note>
        )}
        {state === 'done' && (
          <Note tone="ok">
            <p class="strong">{t.serves}</p>
            {watch !== undefined && <p>{watch ? t.settled : t.watching}</p>}
          </Note>
        )}
        {failure && (
          <Note tone="bad">
            <p class="strong">{failure.exitCode === REVERTED ? t.reverted : t.failed}</p>
            <p class="wrap">{failure.message}</p>
            {failure.hint && <p class="wrap">{failure.hint}</p>}
          </Note>
        )}
        {problem && <ProblemNote problem={problem} />}
      </div>
      {lines.length > 0 && (
        <details>
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
    </Window>
  )
}
