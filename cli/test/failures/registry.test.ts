import { spawnSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FailureEntry } from '@mortise/installer/failures'
import * as failures from '@mortise/installer/failures'
import t from 'tap'
import * as usage from '../../src/failures/usage.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const sources = ['cli/src', 'packages/installer/src'].map((folder) => join(root, folder))
const entries = Object.entries({ ...failures, ...usage }).filter(
  ([, entry]) => 'hints' in Object(entry),
) as unknown as [string, FailureEntry][]

/** Every file of the command and the installer outside the registry, by its path. */
async function files(): Promise<[string, string][]> {
  const found = sources.map(async (source) => {
    const names = (await readdir(source, { recursive: true })).filter(
      (name) => name.endsWith('.ts') && !name.startsWith('failures/'),
    )
    return await Promise.all(
      names.map(
        async (name): Promise<[string, string]> => [name, await readFile(join(source, name), 'utf8')],
      ),
    )
  })
  return (await Promise.all(found)).flat()
}

t.test('an entry fills the placeholders of its texts', async (t) => {
  const cause = new Error('EADDRINUSE')
  const failure = failures.portInUse({ port: 80, address: '::1', cause })
  t.match(failure, { code: 'port-in-use', exitCode: 1, cause })
  t.equal(failure.message, 'Another program uses port 80 of ::1.')
  t.match(failures.missingFile({ path: '/$&/{path}' }).message, '/$&/{path} is missing.')
})

t.test('each entry is one failure with full sentences', async (t) => {
  t.ok(entries.length > 90)
  const texts = entries.flatMap(([, { code, kind, message, hints }]) =>
    Object.values(hints).map((hint) => `${code} ${kind} ${message} ${hint}`),
  )
  t.equal(new Set(texts).size, texts.length)
  for (const [name, { code, message, hints }] of entries) {
    t.match(code, /^[a-z]+(-[a-z]+)*$/, name)
    t.match(message, /^["A-Z{-]|^app\.config\.json/, name)
    for (const hint of Object.values(hints)) t.match(hint, /^[A-Z{]/, name)
  }
})

t.test('each entry is used, with each of its hints', async (t) => {
  const texts = (await files()).map(([, text]) => text)
  for (const [name, { hints }] of entries) {
    const users = texts.filter((text) => new RegExp(`\\b${name}\\b`).test(text))
    t.ok(users.length > 0, name)
    const cases = Object.keys(hints)
    for (const hint of cases.length > 1 ? cases : []) {
      t.ok(
        users.some((text) => text.includes(`'${hint}'`)),
        `${name}: ${hint}`,
      )
    }
  }
})

t.test('only the registry has texts of failures', async (t) => {
  for (const [name, text] of await files()) {
    t.notMatch(text, /new Failure\(/, name)
  }
})

t.test('docs/errors.md matches the registries', async (t) => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, '.dev', 'errors-page.js'), '--check'], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
})
