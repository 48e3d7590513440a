import { createHash } from 'node:crypto'
import { chmod, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { hashTree } from '../../src/modules/hash-tree.ts'
import { temporaryFolder } from '../application-folder.ts'

t.test('the hash distinguishes bytes, names, folders and executability, and nothing else', async (t) => {
  const folder = await temporaryFolder(t)
  const seen = new Set<string>()
  const isNew = async (what: string) => {
    const hash = await hashTree(folder)
    t.match(hash, /^sha512-[A-Za-z0-9+/]{86}==$/)
    t.notOk(seen.has(hash), what)
    seen.add(hash)
  }
  const a = join(folder, 'a')
  await isNew('empty')
  await writeFile(a, '1')
  await isNew('a file')
  const original = await hashTree(folder)
  await writeFile(a, '2')
  await isNew('other bytes')
  await writeFile(a, '1')
  await chmod(a, 0o755)
  await isNew('executable')
  await chmod(a, 0o600)
  t.equal(await hashTree(folder), original, 'who may read it does not matter')
  await rename(a, join(folder, 'b'))
  await isNew('another name')
  await mkdir(join(folder, 'c'))
  await rename(join(folder, 'b'), join(folder, 'c', 'a'))
  await isNew('another folder')
})

t.test('the hash is that of its definition, for many files and for a large one', async (t) => {
  const folder = await temporaryFolder(t)
  const sha512 = (data: string | Buffer) => createHash('sha512').update(data).digest('base64')
  const large = Buffer.alloc(3 * 1024 * 1024, 'large')
  const files = new Map<string, string | Buffer>([['b', large]])
  for (let number = 0; number < 50; number += 1) files.set(`a${number}`, `${number}`)
  for (const [name, data] of files) await writeFile(join(folder, name), data)
  const described = [...files.keys()].sort().map((name) => [name, false, sha512(files.get(name) ?? '')])
  const whole = sha512(described.map((file) => JSON.stringify(file)).join(''))
  t.equal(await hashTree(folder), `sha512-${whole}`)
})

t.test('links are refused', async (t) => {
  const folder = await temporaryFolder(t)
  await symlink('/etc/passwd', join(folder, 'link'))
  await t.rejects(hashTree(folder), { message: /link is neither a file nor a folder/ })
  await rm(join(folder, 'link'))
})
