import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Problem } from '../api.ts'
import { ago, clock, fullTime } from '../format.ts'
import { texts } from '../texts.ts'
import { Icon, type IconName } from './icon.tsx'

type Tone = 'ok' | 'warn' | 'bad' | 'info' | 'accent' | 'idle'

export const Badge = ({
  tone = 'idle',
  bare,
  children,
}: {
  tone?: Tone
  bare?: boolean
  children: ComponentChildren
}) => <span class={`badge ${tone}${bare ? ' bare' : ''}`}>{children}</span>

export const Time = ({ at }: { readonly at: string }) => (
  <time dateTime={at} title={fullTime(at)}>
    {ago(at, clock.value)}
  </time>
)

interface HeadProps {
  readonly title: ComponentChildren
  readonly lead?: ComponentChildren
  readonly above?: ComponentChildren
  readonly children?: ComponentChildren
}

/** The head of a view: its title, and what can be done in it. */
export const Head = ({ title, lead, above, children }: HeadProps) => (
  <div class="head">
    <div class="titles">
      {above}
      <h1>{title}</h1>
      {lead && <p class="lead">{lead}</p>}
    </div>
    {children && <div class="actions">{children}</div>}
  </div>
)

interface CardProps {
  readonly title?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
  readonly label?: string
}

export const Card = ({ title, actions, children, label }: CardProps) => (
  <section class="card" aria-label={label}>
    {title && (
      <header>
        <h2>{title}</h2>
        {actions}
      </header>
    )}
    {children}
  </section>
)

export const Empty = ({
  icon,
  title,
  children,
}: {
  icon: IconName
  title?: string
  children?: ComponentChildren
}) => (
  <div class="empty">
    <Icon name={icon} />
    {title && <p class="strong">{title}</p>}
    {children && <p>{children}</p>}
  </div>
)

export const Waiting = () => (
  <div class="wait" role="status">
    <span class="hidden-text">{texts.loading}</span>
    <i />
    <i />
    <i />
  </div>
)

export const WaitingCard = () => (
  <div class="card">
    <Waiting />
  </div>
)

interface NoteProps {
  readonly tone?: 'bad' | 'warn' | 'ok' | 'plain'
  readonly icon?: IconName
  readonly children: ComponentChildren
  readonly action?: ComponentChildren
}

export const Note = ({ tone = 'plain', icon, children, action }: NoteProps) => (
  <div class={`note ${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
    <Icon name={icon ?? (tone === 'ok' ? 'check' : tone === 'warn' ? 'warn' : 'error')} />
    <div class="text">{children}</div>
    {action ?? <span />}
  </div>
)

/** A failure: what happened, why, and what to do. */
export function ProblemNote({ problem, retry }: { readonly problem: Problem; readonly retry?: () => void }) {
  const { code, title, detail, hint, errors, requestId } = problem
  const [what, why] =
    code === 'unreachable'
      ? [texts.problem.unreachable, texts.problem.unreachableDetail]
      : code === 'not-from-host'
        ? [texts.problem.notFromHost, texts.problem.notFromHostDetail(problem.status)]
        : [title, detail]
  return (
    <Note
      tone="bad"
      action={
        retry && (
          <button type="button" class="button" onClick={retry}>
            {texts.retry}
          </button>
        )
      }
    >
      <p class="strong">{what}</p>
      <p class="wrap">{why}</p>
      {errors.map((error) => (
        <p class="wrap" key={error.pointer ?? error.parameter}>
          <code>{error.pointer ?? error.parameter}</code> {error.detail}
        </p>
      ))}
      {hint && <p class="wrap">{hint}</p>}
      {what === title && (
        <p class="small muted wrap">
          <code>{code}</code>
          {requestId && ` · ${texts.requestId} ${requestId}`}
        </p>
      )}
    </Note>
  )
}

export function Copy({ text, label = texts.copy }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard?.writeText(text).catch(() => undefined)
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <button
      type="button"
      class="button tiny plain square"
      aria-label={isCopied ? texts.copied : label}
      title={label}
      onClick={copy}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
    </button>
  )
}

/** A command to type. */
export const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    <code>{text}</code>
    <Copy text={text} />
  </div>
)

interface ChoicesProps {
  readonly label: string
  readonly value: string
  readonly of: readonly (readonly [value: string, text: string])[]
  choose(value: string): void
}

/** One of a few, as buttons side by side. */
export const Choices = ({ label, value, of, choose }: ChoicesProps) => (
  <fieldset class="choices" aria-label={label}>
    {of.map(([one, text]) => (
      <button type="button" key={one} aria-pressed={one === value} onClick={() => choose(one)}>
        {text}
      </button>
    ))}
  </fieldset>
)

interface FindProps {
  readonly label: string
  readonly placeholder: string
  readonly value: string
  search(text: string): void
}

/** Searches when Enter is pressed; `/` comes here. */
export function Find({ label, placeholder, value, search }: FindProps) {
  return (
    <search>
      <form
        class="find"
        onSubmit={(event) => {
          event.preventDefault()
          const input = event.currentTarget.elements.namedItem('words') as HTMLInputElement
          search(input.value.trim())
        }}
      >
        <Icon name="search" />
        <input
          class="input"
          type="search"
          name="words"
          aria-label={label}
          placeholder={placeholder}
          defaultValue={value}
          key={value}
          data-find
          onInput={(event) => event.currentTarget.value === '' && value !== '' && search('')}
        />
      </form>
    </search>
  )
}

export const Json = ({ value }: { readonly value: unknown }) => <pre>{JSON.stringify(value, null, 2)}</pre>

export const Method = ({ route }: { readonly route: string }) => {
  const [method = '', path = ''] = route.split(' ')
  return (
    <>
      <span class={`method ${method}`}>{method}</span> <code>{path}</code>
    </>
  )
}
