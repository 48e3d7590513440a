import './styles/theme.css'
import './styles/shell.css'
import './styles/parts.css'
import './styles/views.css'
import { signal } from '@preact/signals'
import { render } from 'preact'
import { readSession, session } from './api.ts'
import { toProblem } from './load.ts'
import { Shell } from './shell.tsx'
import { SignIn, signInWithLink } from './sign-in.tsx'
import { readTheme } from './theme.ts'
import { ProblemNote } from './ui/parts.tsx'

const failed = signal<ReturnType<typeof toProblem> | undefined>(undefined)

function Page() {
  if (failed.value)
    return (
      <div class="door">
        <ProblemNote problem={failed.value} retry={start} />
      </div>
    )
  if (session.value === undefined) return null
  return session.value ? <Shell /> : <SignIn />
}

async function start() {
  failed.value = undefined
  try {
    if (!(await signInWithLink())) await readSession()
  } catch (error) {
    failed.value = toProblem(error)
  }
}

readTheme()
const root = document.getElementById('page')
if (root) render(<Page />, root)
void start()
