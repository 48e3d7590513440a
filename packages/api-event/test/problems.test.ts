import { testProblems } from '@mortise/module-testkit'
import { type Test, test } from 'tap'
import { problems } from '../src/problems.ts'
import { eventHost } from './event-host.ts'

testProblems<Test>(test, problems, new URL('../README.md', import.meta.url), eventHost)
