import { Failure } from '../failures/index.ts'

/** For what completes nothing itself, and cannot go on without. */
export function interrupted(): Failure {
  return new Failure(
    'refused',
    'interrupted',
    'A command was interrupted, and its change is to be completed first.',
    'Run "app doctor --fix", which completes it, then try again.',
  )
}
