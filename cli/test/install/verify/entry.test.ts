import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { entryOf } from '@mortise/installer'
import t from 'tap'
import { sampleFolder, sampleTarball } from '../../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../../run-app.ts'

const entries: [json: Parameters<typeof entryOf>[0], file: string | undefined][] = [
  [{}, 'index.js'],
  [{ main: 'lib/x.js' }, 'lib/x.js'],
  [{ exports: './a.js', main: 'b.js' }, './a.js'],
  [{ exports: { '.': './a.js', './b': './b.js' } }, './a.js'],
  [{ exports: { types: './a.d.ts', require: './a.cjs', default: './a.js' } }, './a.js'],
  [{ exports: { '.': { browser: './b.js', node: { import: './n.js' }, default: './d.js' } } }, './n.js'],
  [{ exports: { '.': [{ require: './a.cjs' }, './a.js'] } }, './a.js'],
  [{ exports: { './other': './a.js' } }, undefined],
  [{ exports: { '.': null } }, undefined],
]
for (const [json, file] of entries) {
  t.test(`${JSON.stringify(json)} is ${file}`, async (t) => t.equal(entryOf(json)?.file, file))
}

const unbuilt = { json: { exports: './dist/index.js', files: ['dist'] } }

t.test('a folder without a build is refused before its code runs, with a hint', async (t) => {
  const { root, run } = await testApplication(t)
  const folder = await sampleFolder(join(root, 'hello'), unbuilt)
  const refused = await run('module-install', '--yes', folder)
  t.equal(refused.exitCode, 4)
  t.match(refused.json.error, {
    code: 'no-entry',
    message: /"exports" in package.json names \.\/dist\/index\.js, which is not in the package/,
    hint: /^Build the module first, and check "files"/,
  })
  await mkdir(join(folder, 'dist'))
  await cp(join(folder, 'index.js'), join(folder, 'dist', 'index.js'))
  t.equal((await run('module-install', '--yes', folder)).exitCode, 0)
})

t.test('for a built but not packed entry, the hint names "files"', async (t) => {
  const { root, run } = await testApplication(t)
  const folder = await sampleFolder(join(root, 'hello'), {
    json: { files: ['README.md'], exports: './index.js' },
  })
  await writeFile(join(folder, 'README.md'), '')
  t.match((await run('module-install', '--yes', folder)).json.error, {
    code: 'no-entry',
    hint: /not packed.*"files"/,
  })
})

t.test('for a package of others, the hint names its author', async (t) => {
  const { root, run } = await testApplication(t)
  const file = await sampleTarball(join(root, 'hello.tgz'), unbuilt)
  t.match((await run('module-install', '--yes', file)).json.error, { code: 'no-entry', hint: /author/ })
})
