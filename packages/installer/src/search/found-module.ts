import { hostVersion, isInHostRange } from '@mortise/host'
import type { Signed } from '../install/fetch/verify-signature.ts'
import { foreignText } from '../reporting/foreign-text.ts'

/** A module that can be installed. Null stands for what its source does not say. */
export interface FoundModule {
  /** What `module-install` takes: `api-cart`, `@acme/api-review`, `npm:api-review`. */
  readonly spec: string
  readonly package: string
  readonly from: 'command' | 'alias' | 'registry' | 'folder'
  readonly version: string | null
  readonly description: string | null
  readonly publisher: string | null
  /** The range of hosts that it runs on. */
  readonly host: string | null
  /** Whether it runs on this host. */
  readonly compatible: boolean | null
  /** When its version was published. */
  readonly published: string | null
  readonly signed: Signed | null
  /** Why it could not be described. */
  readonly problem: string | null
}

/** What a package.json says of the package. */
export interface Described {
  readonly name: string
  readonly version: string
  readonly description?: unknown
  readonly keywords?: unknown
  readonly mortise?: unknown
}

export const described = ({ version, description, mortise }: Described) => {
  const { host } = (typeof mortise === 'object' && mortise !== null ? mortise : {}) as { host?: unknown }
  return {
    version: foreignText(String(version), 100),
    description: typeof description === 'string' ? foreignText(description) : null,
    host: typeof host === 'string' ? foreignText(host, 100) : null,
    compatible: typeof host === 'string' ? isInHostRange(host, hostVersion) : null,
    published: null,
    signed: null,
    problem: null,
  }
}

export const undescribed = (problem: string | null) => ({
  ...{ version: null, description: null, publisher: null, host: null, compatible: null },
  ...{ published: null, signed: null, problem: problem === null ? null : foreignText(problem, 300) },
})

/** Another name would be a path, or another kind of source, for `module-install`. */
export const isPackageName = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= 214 && /^(@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~][\w.~-]*$/i.test(name)

/** Whether every word is in one of the texts. */
export function matches(words: readonly string[], texts: readonly unknown[]): boolean {
  const all = texts.flat().join(' ').toLowerCase()
  return words.every((word) => all.includes(word.toLowerCase()))
}
