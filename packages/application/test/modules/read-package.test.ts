import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readNewPackage, readPackage } from '../../src/modules/read-package.ts'
import { modulePackage, oneRoute, temporaryFolder } from '../application-folder.ts'

t.test('the manifest is read without running the package', async (t) => {
  const directory = await modulePackage(t, {
    manifest: {
      id: 'note',
      routes: ['GET /note'],
      tables: 'note',
      migrations: './migrations',
      config: 'settings.json',
    },
    files: { 'settings.json': '{"type":"object"}', 'index.js': 'throw new Error("run")' },
  })
  t.match(await readPackage(directory), {
    name: 'note',
    version: '1.0.0',
    directory,
    manifest: { id: 'note' },
    settingsSchema: { type: 'object' },
  })
})

t.test('a table prefix is the same with its underscore', async (t) => {
  const directory = await modulePackage(t, { manifest: { id: 'note', tables: 'note_' }, files: {} })
  t.equal((await readPackage(directory)).manifest.tables, 'note')
})

t.test('each wrong manifest is refused, and the key named', async (t) => {
  const { manifest } = oneRoute('note', '')
  const wrong: [object, RegExp][] = [
    [{ ...manifest, id: 'Note' }, /mortise\.id/],
    [{ ...manifest, id: '../x' }, /mortise\.id/],
    [{ ...manifest, host: 'new' }, /"new" \(host\) is not a semver range/],
    [{ ...manifest, routes: ['/note'] }, /mortise\.routes\.0/],
    [{ ...manifest, routes: ['GET /*'] }, /mortise\.routes\.0/],
    [{ ...manifest, routes: ['GET /:any'] }, /mortise\.routes\.0/],
    [{ ...manifest, routes: 'GET /note' }, /mortise\.routes/],
    [{ ...manifest, routes: ['GET /note', 'GET /note'] }, /mortise\.routes/],
    [{ ...manifest, tables: 'sqlite%' }, /mortise\.tables/],
    [{ ...manifest, migrations: 'migrations' }, /mortise\.tables" is missing/],
    [{ ...manifest, tables: 'note', migrations: '../../etc' }, /mortise\.migrations" must lie inside/],
    [{ ...manifest, config: '/etc/passwd' }, /mortise\.config" must lie inside/],
    [{ ...manifest, config: 'missing.json' }, /missing\.json cannot be read/],
    [{ ...manifest, provides: { catalog: '^1' } }, /provides "catalog" with an invalid semantic version/],
    [{ ...manifest, requires: { catalog: 'latest' } }, /"latest" \(catalog\)/],
    [{ ...manifest, hooks: {} }, /mortise\.hooks/],
  ]
  for (const [value, message] of wrong) {
    const directory = await modulePackage(t, { manifest: value as never, files: {} })
    await t.rejects(readPackage(directory), { name: 'ManifestError', message }, JSON.stringify(value))
  }
})

t.test('a package without manifest, name, version or JSON is no module', async (t) => {
  const directory = await temporaryFolder(t)
  await t.rejects(readPackage(directory), { name: 'ManifestError', message: /cannot be read/ })
  const wrong: [string, RegExp][] = [
    ['{', /is not JSON/],
    ['[]', /must hold a JSON object/],
    ['{"version":"1.0.0"}', /"name" is missing/],
    ['{"name":"x","version":"one"}', /"version" is not a semantic version/],
    ['{"name":"x","version":"1.0.0"}', /not a Mortise module/],
    ['{"name":"x","version":"1.0.0","mortise":{"__proto__":{"id":"x"}}}', /mortise/],
  ]
  for (const [text, message] of wrong) {
    await writeFile(join(directory, 'package.json'), text)
    await t.rejects(readPackage(directory), { name: 'ManifestError', message }, text)
  }
})

t.test('a wrong schema of settings is refused when the package is new', async (t) => {
  const manifest = { ...oneRoute('note', '').manifest, config: 'settings.json' }
  for (const schema of ['{"type":"text"}', '{"$ref":"#/none"}', '{"$schema":"urn:other"}']) {
    const directory = await modulePackage(t, { manifest, files: { 'settings.json': schema } })
    await t.rejects(readNewPackage(directory), {
      name: 'ManifestError',
      message: /settings\.json is not a JSON Schema/,
    })
    await t.resolves(readPackage(directory))
  }
})
