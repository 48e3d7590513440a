import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { useCommand } from '../../src/application/command-folder.ts'
import {
  indexedNames,
  indexedPackage,
  shippedPackage,
  workspaceFolder,
} from '../../src/store/module-index.ts'

t.test('only names in the index resolve to its packages', async (t) => {
  for (const name of indexedNames) {
    const packageName = indexedPackage(name) as string
    t.match(packageName, /^@mortise\//, 'the scope is our own')
    t.equal(indexedPackage(packageName), packageName)
  }
  t.equal(indexedPackage('toString'), undefined)
  t.equal(indexedPackage('@acme/api-cart'), undefined)
})

t.test('in a checkout a package resolves to its workspace folder', async (t) => {
  const checkout = t.testdir({
    'package.json': '{"workspaces":["packages/a","packages/b"]}',
    packages: { a: { 'package.json': '{"name":"@x/a"}' }, b: { 'package.json': '{"name":"@x/b"}' } },
  })
  t.equal(workspaceFolder('@x/b', checkout), join(checkout, 'packages', 'b'))
  t.equal(workspaceFolder('@x/c', checkout), undefined)
})

t.test('this checkout has every package of the index', async (t) => {
  const command = fileURLToPath(new URL('../../../../cli', import.meta.url))
  useCommand({ own: command, called: command })
  for (const name of indexedNames) t.ok(workspaceFolder(indexedPackage(name) as string), name)
})

t.test('what travels with the command is named by its index', async (t) => {
  const file = 'mortise-api-cart-1.0.0.tgz'
  const shipped = { '@mortise/api-cart': { version: '1.0.0', integrity: 'sha512-x', file } }
  const folder = t.testdir({ 'index.json': JSON.stringify(shipped) })
  t.same(shippedPackage('@mortise/api-cart', folder), {
    ...shipped['@mortise/api-cart'],
    file: join(folder, file),
  })
  t.equal(shippedPackage('toString', folder), undefined)
  t.equal(shippedPackage('@mortise/api-cart', join(folder, 'missing')), undefined)
})
