import { readFile } from 'node:fs/promises'
import { declarationOf } from '@mortise/module-sdk'
import { problemsInOpenapi, problemsInReadme } from '@mortise/module-testkit'
import t from 'tap'
import plugin from '../src/index.ts'
import { purchaseHost } from './purchase-host.ts'

const registry = Object.entries(declarationOf(plugin)?.problems ?? {}).map(
  ([code, { status }]) => `${status} ${code}`,
)

t.test('the README names every problem with its status, and no other', async (t) => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  t.same(problemsInReadme(readme), registry.toSorted())
})

t.test('the OpenAPI document names every problem at the routes that answer it', async (t) => {
  const { app } = await purchaseHost(t)
  const described = problemsInOpenapi((await app.inject('/openapi.json')).json())
  t.same(
    registry.filter((problem) => !described.has(problem)),
    [],
  )
})
