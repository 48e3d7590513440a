import { deepEqual } from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { ModulePlugin } from '@mortise/module-sdk'
import { declarationOf } from '@mortise/module-sdk/host'
import type { TestHost } from './create-test-host.ts'
import type { Register } from './on-engines.ts'

/** The part of an OpenAPI document that the tests read: routes by path and method. */
interface Described {
  readonly paths: Record<string, Record<string, { responses?: Record<string, { description: string }> }>>
}

/**
 * Registers two tests. The README must list exactly the problems of a module, in a table whose rows
 * begin with status and code. The OpenAPI document must list each problem at the routes that return
 * it.
 * @param hostPackageOf makes a host that serves the module
 */
export function testProblems<Test extends object>(
  test: Register<Test>,
  plugin: ModulePlugin,
  readme: URL,
  hostPackageOf: (t: Test) => Promise<Pick<TestHost, 'app'>>,
): void {
  const problems = Object.entries(declarationOf(plugin)?.problems ?? {}).map(
    ([code, { status }]) => `${status} ${code}`,
  )

  test('the README names every problem with its status, and no other', async () => {
    deepEqual(inReadme(await readFile(readme, 'utf8')), problems.toSorted())
  })

  test('the OpenAPI document names every problem at the routes that return it', async (t) => {
    const { app } = await hostPackageOf(t)
    const described = inOpenapi((await app.inject('/openapi.json')).json())
    deepEqual(
      problems.filter((problem) => !described.has(problem)),
      [],
    )
  })
}

function inReadme(text: string): string[] {
  const rows = text.matchAll(/^\| (\d{3}) +\| `([a-z-]+)` +\|/gm)
  return Array.from(rows, ([, status, code]) => `${status} ${code}`).sort()
}

function inOpenapi({ paths }: Described): Set<string> {
  const routes = Object.values(paths).flatMap((methods) => Object.values(methods))
  const responses = routes.flatMap(({ responses = {} }) => Object.entries(responses))
  return new Set(
    responses.flatMap(([status, { description }]) =>
      Array.from(description.matchAll(/`([a-z-]+)`/g), ([, code]) => `${status} ${code}`),
    ),
  )
}
