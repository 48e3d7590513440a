import type { Test } from 'tap'

/** One attempt on an application, and what the command must say of it. */
export interface Hostile {
  /** What is to be installed: a file or folder that was made, or a name on a registry. */
  readonly spec: (lab: Lab) => string | Promise<string>
  /** The code and the cause that the failure must name. */
  readonly code: string
  readonly message: RegExp
  /** 4 where it is left out. */
  readonly exitCode?: number
  /** It can be known by running it only: by the probe, after the plan. */
  readonly probed?: true
}

/** What an attempt is made with. */
export interface Lab {
  readonly t: Test
  /** A folder for the packages; nothing of the application is in it. */
  readonly folder: string
  /** JavaScript for the first line of a module: running it leaves a file. */
  readonly canary: string
  /** The same as a command of a lifecycle script. */
  readonly canaryCommand: string
}

export type Corpus = Readonly<Record<string, Hostile>>
