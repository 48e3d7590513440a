import { useEffect, useState } from 'preact/hooks'
import { may, type Problem, readSession, request, session } from '../api.ts'
import { toProblem } from '../load.ts'
import { SignInForm } from '../sign-in.tsx'
import { texts } from '../texts.ts'
import { Window } from '../ui/dialog.tsx'
import { Command, ProblemNote, Waiting } from '../ui/parts.tsx'
import { dropsIn, isEmpty, modulesIn, type Plan } from './plan.ts'
import { PlanView } from './plan-view.tsx'
import { Run } from './run.tsx'

const t = texts.changes

/** A command that changes the application, by its name in the console. */
export interface Change {
  readonly title: string
  readonly command: string
  readonly args: readonly string[]
  readonly options?: Readonly<Record<string, string | boolean>>
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
    ...Object.entries(options).map(([name, value]) => {
      const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
      return value === true ? option : `${option} ${quoted(String(value))}`
    }),
  ].join(' ')

type Choice = keyof typeof t.choices
/** The options that one may choose in the window: each makes another plan. */
const choices: Readonly<Record<string, readonly Choice[]>> = {
  'module-install': ['allowNew'],
  'module-upgrade': ['allowNew'],
  'module-remove': ['purge'],
}

/** Plan, consent, progress, result and the watch of a change. Where changes are off: the command to type. */
export function ChangeWindow({ change: asked, close }: { readonly change: Change; close(): void }) {
  const [chosen, setChosen] = useState<Change['options']>({})
  const change = { ...asked, options: { ...asked.options, ...chosen } }
  const [turn, setTurn] = useState(0)
  const [planned, setPlanned] = useState<Planned>()
  const [problem, setProblem] = useState<Problem>()
  const [isStale, setStale] = useState(false)
  const [hasRead, setRead] = useState(false)
  const [running, setRunning] = useState<string>()
  const isOff = session.value?.changes !== 'on' || !may('admin')

  const fail = (error: unknown) => {
    const problem = toProblem(error)
    if (problem.code === 'sign-in-too-old') setStale(true)
    else setProblem(problem)
  }
  /** @param isWanted whether nobody has asked for another plan meanwhile */
  const plan = async (isWanted: () => boolean) => {
    setProblem(undefined)
    setPlanned(undefined)
    setRead(false)
    const { command, args, options } = change
    for (let tries = 0; isWanted(); tries++) {
      try {
        const call = { method: 'POST', body: { command, args, options } } as const
        const found = await request<Planned>('operator/plan', call)
        return isWanted() ? setPlanned(found.body) : undefined
      } catch (error) {
        if (!isWanted()) return
        if (toProblem(error).command?.exitCode !== BUSY || tries === PATIENCE) return fail(error)
        await new Promise((resolve) => setTimeout(resolve, 1000))
      }
    }
  }
  useEffect(() => {
    let isWanted = true
    if (!isOff) void plan(() => isWanted)
    return () => {
      isWanted = false
    }
  }, [turn, JSON.stringify(chosen)])

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
        <Chooser of={asked.command} chosen={chosen} choose={setChosen} />
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
            setTurn(turn + 1)
          }}
        />
      </Window>
    )
  if (running !== undefined) return <Run id={running} title={change.title} close={done} />
  const isTrust = planned && modulesIn(planned.plan).length > 0
  const isNew = planned && modulesIn(planned.plan).some(({ isNewSource }) => isNewSource)
  const isNothing = planned && isEmpty(planned.plan)
  const isDrop = planned && dropsIn(planned.plan).length > 0
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
      <Chooser of={asked.command} chosen={chosen} choose={setChosen} />
      {problem && <ProblemNote problem={problem} retry={() => setTurn(turn + 1)} />}
      {!planned && !problem && (
        <>
          <p class="muted">{t.planning}</p>
          <Waiting />
        </>
      )}
      {planned && (
        <>
          <PlanView plan={planned.plan} value={change.args[1]} />
          {!isNothing && (
            <label class="check">
              <input
                type="checkbox"
                checked={hasRead}
                onChange={(event) => setRead(event.currentTarget.checked)}
              />
              {isNew ? t.consentNew : isTrust ? t.consent : isDrop ? t.consentDrop : t.consentPlain}
            </label>
          )}
        </>
      )}
    </Window>
  )
}

interface ChooserProps {
  /** The command. */
  readonly of: string
  readonly chosen: Change['options']
  choose(chosen: Change['options']): void
}

const Chooser = ({ of, chosen = {}, choose }: ChooserProps) => (
  <>
    {choices[of]?.map((name) => (
      <label class="check" key={name}>
        <input
          type="checkbox"
          checked={chosen[name] === true}
          onChange={(event) => choose(event.currentTarget.checked ? { [name]: true } : {})}
        />
        {t.choices[name]}
      </label>
    ))}
  </>
)
