import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestHost, type TestHostOptions } from '@mortise/module-testkit'
import type { Test } from 'tap'
import { consoleModule } from '../src/index.ts'

const folder = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

/** A host with the console, and a page of a few lines. */
export function consoleHost(t: Test, { modules = [], ...options }: Partial<TestHostOptions> = {}) {
  return createTestHost(t, {
    modules: [{ directory: folder('web-console'), plugin: consoleModule(smallPage(t)) }, ...modules],
    rehearse: false,
    ...options,
  })
}

export const moduleIn = (name: string) => ({ directory: folder(name) })

function smallPage(t: Test): string {
  const page = t.testdir({})
  mkdirSync(join(page, 'asset'))
  writeFileSync(
    join(page, 'index.html'),
    '<!doctype html><html><head><script type="module" src="asset/page-1a2b.js"></script></head></html>',
  )
  writeFileSync(join(page, 'asset', 'page-1a2b.js'), `console.log('${'a page '.repeat(300)}')\n`)
  return page
}
