export { type Advisories, askAdvisories } from './ask-advisories.ts'
export { examine } from './doctor-report.ts'
export type { Finding } from './finding.ts'
