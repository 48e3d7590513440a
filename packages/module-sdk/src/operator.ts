import type { LightMyRequestResponse } from 'fastify'

/** A user, as the token says that they signed in with. */
export interface SignedIn {
  /** As in `caller.id`. */
  readonly id: string
  readonly scopes: readonly string[]
  /** Epoch milliseconds; undefined if the token does not say. */
  readonly issuedAt: number | undefined
  /** When the host stops taking the token, in epoch milliseconds. */
  readonly expiresAt: number
  /** The token's `jti`, which no other token of its issuer has; undefined if it has none. */
  readonly tokenId: string | undefined
  /** As in `caller.proof`. */
  readonly proof: string
}

/** A request to the application itself. */
export interface OperatorRequest {
  readonly method: string
  /** With the query, and without the base path: `/purchase?status=pending`. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer | undefined
  /** The address that the limits count. */
  readonly remoteAddress?: string | undefined
}

/** What a command has printed. */
export interface CommandResult {
  readonly exitCode: number
  /** The document of `--json`; undefined if it printed none. */
  readonly document: unknown
  /** What it said to people. */
  readonly notes: string
}

/** What goes into and out of a command beside its arguments. */
export interface CommandStreams {
  /** Its standard input. A value that may be secret belongs here: other users see arguments. */
  readonly input?: string | undefined
  /** Gets what it says to people, while it runs. */
  readonly onNotes?: ((text: string) => void) | undefined
}

/** A metric as `/metrics` has it. */
export interface OperatorMetric {
  readonly name: string
  readonly samples: readonly {
    /** After the name: `_bucket`. */
    readonly suffix?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly value: number
  }[]
}

/** Options of the commands that `Operator.read` stands for. */
export interface OperatorQuery {
  /** The default is 20. */
  readonly limit?: number | undefined
  /** Only audit records with a smaller `seq`. */
  readonly before?: number | undefined
  /** Only audit records of this object. */
  readonly object?: string | undefined
}

/**
 * What the host gives to the one module whose manifest has `"operator": true`. The plan of its
 * installation says what that means.
 */
export interface Operator {
  /** @throws {Problem} 401 if the token is not valid; 503 if its issuer's keys are unavailable */
  signIn(token: string): Promise<SignedIn>
  /**
   * A request in this process, as the user. It is validated and limited as over HTTP, and does what the
   * scopes allow.
   */
  call(
    user: Pick<SignedIn, 'id' | 'scopes' | 'proof'>,
    request: OperatorRequest,
  ): Promise<LightMyRequestResponse>
  /**
   * Runs `app <command> --json` for this application, as the user of the host. It resolves for every
   * exit code.
   * @param words its arguments; never read as options
   * @param options `{ 'dry-run': true, settle: '10' }`
   * @throws {TypeError} for a command or an option that no operator may use
   */
  run(
    command: string,
    words?: readonly string[],
    options?: Readonly<Record<string, string | true>>,
    streams?: CommandStreams,
  ): Promise<CommandResult>
  /**
   * What these commands print without arguments, read by this process: `audit` newest first, `events` and
   * `work` with the oldest failures first.
   */
  read(command: 'audit' | 'events' | 'work', query?: OperatorQuery): Promise<unknown>
  /** Every metric of the application. */
  metrics(): Promise<readonly OperatorMetric[]>
  /** Whether nobody on the way reads along: it listens on loopback, or `publicUrl` is https. */
  readonly isPrivate: boolean
}
