/** What the host needs of the SDK, and a module does not. */
export { commonProblems } from './common-problems.ts'
export { declarationOf } from './define-module.ts'
export { Manifest } from './manifest.ts'
export { defineProblems, formsOf, ProblemDetails, type Problems, problemContent } from './problem.ts'
export { SPREAD } from './retries.ts'
export { MOST_BYTES } from './sql.ts'
export { isRouteResponse } from './transaction.ts'
