import type { Terminal } from './terminal.ts'

export interface ListedCommand {
  readonly name: string
  /** Its short name: `install` for `module-install`. */
  readonly alias?: string | undefined
  readonly summary: string
  /** Positional arguments in commander's syntax: `<spec...>`. */
  readonly arguments?: string
  readonly load: () => Promise<Command>
}

export interface Command {
  /** The command's own options. All commands have --json, --dir, --verbose and --help. */
  readonly options?: readonly (readonly [flags: string, description: string])[]
  /** Whether it changes the application. It then takes the command lock and has --wait. */
  readonly changes?: boolean
  /** The meaning of --dir, if that is not the application. */
  readonly directory?: string
  readonly examples: readonly string[]
  /**
   * Whether it runs without the environment file, and prints a note about that, because it corrects
   * the setting.
   */
  readonly repairsEnvironment?: boolean
  /** Whether it keeps its own environment, whatever database and secret the running host has. */
  readonly ownEnvironment?: boolean
  /** Whether it runs without the pinned host, to repair or replace that host. */
  readonly repairsHost?: boolean
  /** @throws {Failure} */
  run(call: Call): Promise<void>
}

export interface Call {
  readonly arguments: readonly string[]
  readonly options: Readonly<Record<string, string | boolean | undefined>>
  readonly terminal: Terminal
  /** --dir, or the nearest one upwards. @throws {Failure} if there is none */
  application(): Promise<string>
}
