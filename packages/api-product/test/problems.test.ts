import { testProblems } from '@mortise/module-testkit'
import { type Test, test } from 'tap'
import plugin from '../src/index.ts'
import { productHost } from './product-host.ts'

testProblems<Test>(test, plugin, new URL('../README.md', import.meta.url), productHost)
