import { useEffect, useRef, useState } from 'preact/hooks'
import { may, type Problem, readSession, request, session } from '../api.ts'
import { toProblem } from '../load.ts'
import { SignInForm } from '../sign-in.tsx'
import { texts } from '../texts.ts'
import { Window } from '../ui/dialog.tsx'
import { Command, ProblemNote, Waiting } from '../ui/parts.tsx'
import { isEmpty, modulesIn, type Plan } from './plan.ts'
import { PlanView } from './plan-view.tsx'
import { Run } from './run.tsx'

const t = texts.changes

/** A command that changes the application, by its name in the console. */
export interface Change {
  readonly title: string
  readonly command: string
  readonly args: readonly string[]
  readonly options?: Readonly<Record<string, string | boolean>>
  /** What the plan shows instead of a secret value. */
  readonly shown?: string
}

interface Planned {
  readonly id: string
  readonly command: string
  readonly plan: Plan
}

/** The exit code while another command changes the application, and how many seconds its end is waited for. */
const BUSY = 6
const PATIENCE = 20

const quoted = (text: string) => (/^[\w@./:=^~+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** What to type instead: `config-set` is `app config set` there. */
const commandOf = ({ command, args, options = {} }: Change): string =>
  [
    'app',
    command.replace(/^(config|events|work)-/, '$1 '),
    ...args.map(quoted),
    ...Object.entries(options).map(([name, value]) =>
      value === true ? `--${name}` : `--${name} ${quoted(String(value))}`,
    ),
  ].join(' ')

/** Plan, consent, progress, result and the watch of a change. Where changes are off: the command to type. */
export function ChangeWindow({ change, close }: { readonly change: Change; close(): void }) {
  const [planned, setPlanned] = useState<Planned>()
  const [problem, setProblem] = useState<Problem>()
  const [isStale, setStale] = useState(false)
  const [hasRead, setRead] = useState(false)
  const [running, setRunning] = useState<string>()
  const isOpen = useRef(true)
  const isOff = session.value?.changes !== 'on' || !may('admin')

  const fail = (error: unknown) => {
    const problem = toProblem(error)
    if (problem.code === 'sign-in-too-old') setStale(true)
    else setProblem(problem)
  }
  const plan = async () => {
    setProblem(undefined)
    setPlanned(undefined)
    const { command, args, options } = change
    const body = { command, args, ...(options && { options }) }
    for (let turn = 0; isOpen.current; turn++) {
      try {
        const found = await request<Planned>('operator/plan', { method: 'POST', body })
        return setPlanned(found.body)
      } catch (error) {
        if (toProblem(error).command?.exitCode !== BUSY || turn === PATIENCE) return fail(error)
        await new Promise((resolve) => setTimeout(resolve, 1000))
      }
    }
  }
  useEffect(() => {
    isOpen.current = true
    if (!isOff) void plan()
    return () => {
      isOpen.current = false
    }
  }, [])

  const run = async () => {
    try {
      const { body } = await request<{ change: string }>('operator/change', {
        method: 'POST',
        body: { plan: planned?.id },
      })
      setRunning(body.change)
    } catch (error) {
      fail(error)
    }
  }
  const done = () => {
    void readSession().catch(() => undefined)
    close()
  }

  if (isOff)
    return (
      <Window title={change.title} close={close}>
        <p class="strong">{may('admin') ? t.offTitle : t.notAllowed}</p>
        {may('admin') && session.value?.whyOff && <p class="muted">{session.value.whyOff}</p>}
        {may('admin') && <p>{t.offLead}</p>}
        <Command text={commandOf(change)} />
      </Window>
    )
  if (isStale)
    return (
      <Window title={texts.session.again} close={close}>
        <p>{texts.session.againLead}</p>
        <SignInForm
          done={() => {
            setStale(false)
            void plan()
          }}
        />
      </Window>
    )
  if (running !== undefined) return <Run id={running} title={change.title} close={done} />
  const isTrust = planned && modulesIn(planned.plan).length > 0
  const isNothing = planned && isEmpty(planned.plan)
  return (
    <Window
      title={change.title}
      close={close}
      footer={
        planned &&
        !isNothing && (
          <>
            <button type="button" class="button" onClick={close}>
              {texts.cancel}
            </button>
            <button type="button" class="button main" disabled={!hasRead} onClick={() => void run()}>
              {t.run}
            </button>
          </>
        )
      }
    >
      <Command text={planned?.command ?? commandOf(change)} />
      {problem && <ProblemNote problem={problem} retry={() => void plan()} />}
      {!planned && !problem && (
        <>
          <p class="muted">{t.planning}</p>
          <Waiting />
        </>
      )}
      {planned && (
        <>
          <PlanView plan={planned.plan} value={change.shown ?? change.args[1]} />
          {!isNothing && (
            <label class="check">
              <input
                type="checkbox"
                checked={hasRead}
                onChange={(event) => setRead(event.currentTarget.checked)}
              />
              {isTrust ? t.consent : t.consentPlain}
            </label>
          )}
        </>
      )}
    </Window>
  )
}
