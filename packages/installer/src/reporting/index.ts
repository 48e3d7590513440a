export { escaped } from './foreign-text.ts'
export type { Reporter } from './reporter.ts'
