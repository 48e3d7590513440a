import { currentTime, insufficientScope, type Operator } from '@mortise/module-sdk'
import { problem } from './module.ts'
import type { Session } from './sessions.ts'
import type { Settings } from './settings.ts'

/** What a session may do. */
export class Rights {
  readonly #operator: Operator
  readonly #settings: Settings

  constructor(operator: Operator, settings: Settings) {
    this.#operator = operator
    this.#settings = settings
  }

  of(session: Session) {
    const whyOff = this.#whyOff()
    return {
      canChange: whyOff === undefined && isAdmin(session),
      changes: whyOff === undefined ? ('on' as const) : ('off' as const),
      ...(whyOff !== undefined && { whyOff }),
    }
  }

  /** For everything but a look. @throws {Problem} */
  assertAdmin(session: Session): void {
    if (!isAdmin(session)) throw insufficientScope('admin', 'change something in the console')
  }

  /** For commands that change the application. @throws {Problem} */
  assertMayChange(session: Session): void {
    const whyOff = this.#whyOff()
    if (whyOff !== undefined) throw problem('changes-off', whyOff)
    this.assertAdmin(session)
    if (currentTime() >= session.freshUntil) throw problem('sign-in-too-old')
  }

  #whyOff(): string | undefined {
    const { changes = this.#operator.isPrivate } = this.#settings
    if (changes) return undefined
    const why =
      this.#settings.changes === false
        ? 'The setting web-console.changes is false'
        : 'The host does not listen on loopback, and publicUrl is not https'
    return `${why}, so the console changes nothing. Type the command instead, or run "app config set web-console.changes true".`
  }
}

const isAdmin = ({ user }: Session) => user.scopes.includes('admin')
