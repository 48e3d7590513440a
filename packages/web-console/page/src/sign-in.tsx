import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { base, hasEnded, type Problem, readSession, request, type Session, session } from './api.ts'
import icon from './icon.svg'
import { toProblem } from './load.ts'
import { texts } from './texts.ts'
import { Command, Note, ProblemNote } from './ui/parts.tsx'

const linkProblem = signal<Problem | undefined>(undefined)

async function open(credentials: { readonly token: string } | { readonly link: string }): Promise<void> {
  const { body } = await request<Session>('session', { method: 'POST', body: credentials })
  if (body?.subject) session.value = body
  else await readSession()
}

/** Uses the one-time link of `/console#link=…`, which no server or log has seen. */
export async function signInWithLink(): Promise<boolean> {
  const link = new URLSearchParams(location.hash.slice(1)).get('link')
  if (!link) return false
  history.replaceState(null, '', location.pathname + location.search)
  try {
    await open({ link })
    return true
  } catch (error) {
    linkProblem.value = toProblem(error)
    return false
  }
}

export function SignIn() {
  const t = texts.session
  return (
    <main class="door">
      <div class="brand">
        <img src={icon} alt="" width="36" height="36" />
        <h1>{texts.console}</h1>
      </div>
      {hasEnded.value && <Note>{t.ended}</Note>}
      {linkProblem.value && (
        <Note tone="bad">
          <p class="strong">{linkProblem.value.title}</p>
          <p>{linkProblem.value.detail || t.badLink}</p>
        </Note>
      )}
      <div class="card">
        <SignInForm />
      </div>
    </main>
  )
}

/** The ways to sign in. `done`: after a sign-in that renews the session in place. */
export function SignInForm({ done }: { readonly done?: () => void }) {
  const t = texts.session
  const [problem, setProblem] = useState<Problem>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const token = (form.elements.namedItem('token') as HTMLInputElement).value.trim()
    setBusy(true)
    setProblem(undefined)
    try {
      await open({ token })
      hasEnded.value = false
      linkProblem.value = undefined
      done?.()
    } catch (error) {
      setProblem(toProblem(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <div class="stack tight">
        <p>{t.lead}</p>
        <Command text={t.command} />
      </div>
      <p class="or">{t.or}</p>
      <form onSubmit={submit}>
        <div class="field">
          <label for="token">{t.token}</label>
          <input
            class="input mono"
            id="token"
            name="token"
            type="password"
            required
            autocomplete="off"
            spellcheck={false}
            aria-describedby="token-hint"
          />
          <p class="small muted" id="token-hint">
            {t.tokenHint}
          </p>
        </div>
        {problem && <ProblemNote problem={problem} />}
        <button type="submit" class="button main" disabled={isBusy}>
          {t.signIn}
        </button>
      </form>
      <Issuer />
    </>
  )
}

/** Shown where the host has an issuer, as the document says. */
function Issuer() {
  if (document.querySelector('meta[name="issuer"]') === null) return null
  return (
    <>
      <p class="or">{texts.session.or}</p>
      <a class="button" href={`${base}login`} target="_self">
        {texts.session.issuer}
      </a>
    </>
  )
}
