import { define } from './define-failure.ts'

export const noSecondsToSettle = define.usage(
  'usage',
  '"{text}" is not a number of seconds for --settle.',
  'Use an integer from 0 to {longest}.',
)

export const namedTwice = define.usage(
  'usage',
  'The {what} is given twice: {first} and {second}.',
  'Give it once.',
)

export const wrongMoveTarget = define.usage(
  'usage',
  '--to {problem}.',
  'Write app migrate-data --to "postgres://user@host/database?schema=shop".',
)
