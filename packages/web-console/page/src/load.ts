import { effect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Problem, session } from './api.ts'

export interface Loaded<Data> {
  readonly data: Data | undefined
  readonly problem: Problem | undefined
  readonly isLoading: boolean
  reload(): void
  /** Replaces the data, after a change whose response has them. */
  set(data: Data): void
}

export const toProblem = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem(0, { code: 'page', title: 'Error', detail: String(error) })

/** What slow reads had, so that a view shows it at once and then what is new. */
const kept = new Map<string, unknown>()
// The next session may be another person's.
effect(() => {
  if (session.value === null) kept.clear()
})

/**
 * Loads when one of `inputs` changes, and again every `seconds`. It keeps what it has while it loads again with the
 * same inputs, and while the page is hidden it does not load.
 * @param keep a name under which the data are kept for the next time
 */
export function useLoad<Data>(
  load: (signal: AbortSignal) => Promise<Data>,
  inputs: readonly unknown[],
  seconds?: number,
  keep?: string,
): Loaded<Data> {
  const before = keep === undefined ? undefined : (kept.get(keep) as Data | undefined)
  const [state, setState] = useState<{ data?: Data; problem?: Problem; isLoading: boolean }>({
    isLoading: true,
    ...(before !== undefined && { data: before }),
  })
  const [turn, setTurn] = useState(0)
  const present = useRef(load)
  present.current = load
  const key = JSON.stringify(inputs)
  const shown = useRef(key)

  useEffect(() => {
    const controller = new AbortController()
    const isSame = shown.current === key
    shown.current = key
    setState((before) => (isSame ? { ...before, isLoading: true } : { isLoading: true }))
    const run = async () => {
      try {
        const data = await present.current(controller.signal)
        if (keep !== undefined) kept.set(keep, data)
        if (!controller.signal.aborted) setState({ data, isLoading: false })
      } catch (error) {
        if (controller.signal.aborted) return
        setState((before) => ({ ...before, problem: toProblem(error), isLoading: false }))
      }
    }
    void run()
    if (seconds === undefined) return () => controller.abort()
    const timer = setInterval(() => document.hidden || void run(), seconds * 1000)
    return () => {
      controller.abort()
      clearInterval(timer)
    }
  }, [key, turn, seconds])

  return {
    data: state.data,
    problem: state.problem,
    isLoading: state.isLoading,
    reload: () => setTurn((turn) => turn + 1),
    set: (data) => setState({ data, isLoading: false }),
  }
}
