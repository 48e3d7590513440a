import { readFile } from 'node:fs/promises'
import t from 'tap'
import { problems } from '../src/problems.ts'
import { eventHost } from './event-host.ts'

const registry = Object.entries(problems.definitions).map(([code, { status }]) => `${status} ${code}`)

t.test('the README names every problem with its status, and no other', async (t) => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const named = Array.from(
    readme.matchAll(/^\| (\d{3}) +\| `([a-z-]+)` +\|/gm),
    ([, status, code]) => `${status} ${code}`,
  )
  t.same(named.sort(), registry.toSorted())
})

t.test('the OpenAPI document names every problem at the routes that answer it', async (t) => {
  const { app } = await eventHost(t)
  const { paths } = (await app.inject('/openapi.json')).json()
  const described = new Set<string>()
  for (const operations of Object.values<Record<string, { responses: object }>>(paths)) {
    for (const { responses } of Object.values(operations)) {
      for (const [status, { description }] of Object.entries<{ description: string }>({ ...responses })) {
        for (const [, code] of description.matchAll(/`([a-z-]+)`/g)) described.add(`${status} ${code}`)
      }
    }
  }
  t.same(
    registry.filter((problem) => !described.has(problem)),
    [],
  )
})
