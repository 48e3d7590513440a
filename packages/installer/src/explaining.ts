// Turns errors into failures.

export { explain } from './doctor/explain-error.ts'
export { asFailure } from './reporting/explain.ts'
