import '../supported-node.ts'

export type { CheckOptions, CheckReport } from './check-module.ts'
export { rules } from './rules/index.ts'
export { unchecked } from './unchecked.ts'
export type { Finding } from './world/finding.ts'

// A dynamic import, because a static one links the host before any code runs.
export const { checkModule } = await import('./check-module.ts')
