import { cp, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Problem } from '@mortise/module-sdk'
import t, { type Test } from 'tap'
import { modulePackage, temporaryFolder } from '../../../packages/application/test/application-folder.ts'
import { loadPlugin } from '../../src/modules/load-plugin.ts'

/** The plugin of a module is a function here; what it carries is looked at. */
type Carrier = { readonly own: Record<string, unknown> }

async function writeFiles(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}

/** A package in `node_modules` whose exports are `names`, all of them false. */
const fake = (name: string, ...names: string[]) => ({
  [`node_modules/${name}/package.json`]: JSON.stringify({ name, main: 'index.js', type: 'module' }),
  [`node_modules/${name}/index.js`]: names.map((own) => `export const ${own} = false`).join('\n'),
})

async function load(t: Test, code: string, packageJson: object, files: Record<string, string> = {}) {
  const folder = await modulePackage(t, {
    manifest: { id: 'note' },
    packageJson,
    files: { 'index.js': code },
  })
  await writeFiles(folder, files)
  return (await loadPlugin('note', folder)) as unknown as Carrier
}

t.test('the SDK is the copy of the host, whatever lies beside the module', async (t) => {
  const code = `import { Problem } from '@mortise/module-sdk'
    export default Object.assign(() => {}, { own: { Problem } })`
  t.equal((await load(t, code, {})).own.Problem, Problem)
  const beside = await load(t, code, {}, fake('@mortise/module-sdk', 'Problem'))
  t.equal(beside.own.Problem, Problem)
})

t.test("other packages come from the module's own dependencies", async (t) => {
  const code = `import { Type } from '@sinclair/typebox'
    export default Object.assign(() => {}, { own: { Type } })`
  const copy = fake('@sinclair/typebox', 'Type')
  const range = { '@sinclair/typebox': '*' }
  t.equal((await load(t, code, { dependencies: range }, copy)).own.Type, false)
  t.ok((await load(t, code, { peerDependencies: range }, copy)).own.Type)
  t.ok((await load(t, code, { peerDependencies: range })).own.Type)
})

t.test('a module is confined to its folder, unless it is under development', async (t) => {
  const workspace = await temporaryFolder(t)
  await writeFiles(workspace, fake('hoisted', 'found'))
  const code = "import { found } from 'hoisted'\nexport default Object.assign(() => {}, { own: { found } })"
  const made = await modulePackage(t, { manifest: { id: 'note' }, files: { 'index.js': code } })
  for (const name of ['installed', 'written']) await cp(made, join(workspace, name), { recursive: true })
  await t.rejects(loadPlugin('note', join(workspace, 'installed')), {
    message: /which its package.json does not name/,
  })
  const written = await loadPlugin('note', join(workspace, 'written'), { confined: false })
  t.equal((written as unknown as Carrier).own.found, false)
})
