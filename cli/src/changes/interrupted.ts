import { Failure } from '../failures/index.ts'

/** For code that needs the interrupted change completed, and does not complete it. */
export function interrupted(): Failure {
  return new Failure(
    'refused',
    'interrupted',
    'A command was interrupted, and its change is to be completed first.',
    'Run "app doctor --fix", which completes it, then try again.',
  )
}
