import type { Terminal } from './terminal.ts'

/** One subcommand of `app`. */
export interface Command {
  readonly name: string
  readonly summary: string
  /** Positional arguments in commander's words: `<spec...>`. */
  readonly arguments?: string
  /** Options of its own: flags and description. All commands have --json, --dir, --verbose and --help. */
  readonly options?: readonly (readonly [flags: string, description: string])[]
  /** Whether it changes the application, or prepares a package in it, and so takes its lock: it has --wait then. */
  readonly changes?: boolean
  /** What --dir names, where that is not the application. */
  readonly directory?: string
  readonly examples: readonly string[]
  /** Whether it runs without the environment file, and says so: it corrects the setting. */
  readonly mendsEnvironment?: boolean
  /** Whether it keeps to its own environment, whatever database and secret the running host has. */
  readonly ownEnvironment?: boolean
  /** Whether it can do without the host that the application pins, and mend or replace that. */
  readonly mendsHost?: boolean
  /** @throws {Failure} */
  run(call: Call): Promise<void>
}

/** One call of a command. */
export interface Call {
  readonly arguments: readonly string[]
  readonly options: Readonly<Record<string, string | boolean | undefined>>
  readonly terminal: Terminal
  /** The application folder: --dir, or the nearest upwards. @throws {Failure} where there is none */
  application(): Promise<string>
}
