import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readLockFile } from '@mortise/application'
import t from 'tap'
import { fakeRegistry, type Published, published } from '../../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleTarball } from '../../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../../run-app.ts'

const integrityOf = (data: Buffer) => `sha512-${createHash('sha512').update(data).digest('base64')}`

function signer(keyid: string, expires: string | null = null) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64')
  return {
    key: { keyid, keytype: 'ecdsa-sha2-nistp256', scheme: 'ecdsa-sha2-nistp256', key, expires },
    signed(one: Published, more: object = {}): Published {
      const text = `${one.json.name}@${one.json.version}:${integrityOf(one.tarball)}`
      const sig = sign('SHA256', Buffer.from(text), privateKey).toString('base64')
      return { ...one, dist: { signatures: [{ keyid, sig }], ...more } }
    },
  }
}

function sample(version: string): Published {
  const { 'package.json': json, ...files } = sampleFiles({ version })
  return published(JSON.parse(json as string), files)
}

const npm = signer('SHA256:of-the-registry')
const stranger = signer('SHA256:of-the-registry')
const refused = { exitCode: 4, json: { error: { code: 'signature' } } }

t.test('a signature is verified and recorded', async (t) => {
  const { directory, run } = await testApplication(t)
  const { registry } = await fakeRegistry(t, [npm.signed(sample('1.0.0'))], [npm.key])
  process.env.npm_config_registry = registry
  t.equal((await run('module-install', '--yes', '@acme/hello')).exitCode, 0)
  const { hello } = (await readLockFile(directory)).modules
  t.strictSame(hello?.signed, { keyid: 'SHA256:of-the-registry', provenance: false })
})

t.test('a signature with another, an unknown or an expired key is refused', async (t) => {
  const expired = signer('SHA256:old', '2001-01-01T00:00:00.000Z')
  const rows: Record<string, [Published, key: object, message: RegExp]> = {
    'another key of the same name': [stranger.signed(sample('1.0.0')), npm.key, /invalid registry signature/],
    'a key that is not published': [npm.signed(sample('1.0.0')), expired.key, /no corresponding public key/],
    'a key that had expired': [expired.signed(sample('1.0.0')), expired.key, /has expired/],
    'the signature of another version': [
      { ...sample('1.0.0'), dist: npm.signed(sample('1.0.1')).dist ?? {} },
      npm.key,
      /invalid registry signature/,
    ],
  }
  for (const [name, [one, key, message]] of Object.entries(rows)) {
    await t.test(name, async (t) => {
      const { directory, run } = await testApplication(t)
      process.env.npm_config_registry = (await fakeRegistry(t, [one], [key])).registry
      t.match(await run('module-install', '--yes', '@acme/hello'), refused)
      t.match((await run('module-install', '--yes', '@acme/hello')).json.error.message, message)
      t.strictSame((await readLockFile(directory)).modules, {})
    })
  }
})

t.test('a forged provenance is refused', async (t) => {
  const { run } = await testApplication(t)
  const statement = { subject: [{ name: 'pkg:npm/%40acme/hello@1.0.0', digest: { sha512: '00' } }] }
  const payload = Buffer.from(JSON.stringify(statement)).toString('base64')
  const bundle = { dsseEnvelope: { payload, signatures: [{ keyid: '', sig: 'AA==' }] } }
  const one = npm.signed(sample('1.0.0'), {
    attestations: { url: 'https://elsewhere.example/-/attestations' },
  })
  const attestations = { attestations: [{ predicateType: 'https://slsa.dev/provenance/v1', bundle }] }
  const { registry, requests } = await fakeRegistry(t, [one], [npm.key], {
    '/-/attestations': attestations,
  })
  process.env.npm_config_registry = registry
  t.match(await run('module-install', '--yes', '@acme/hello'), refused)
  t.ok(requests.includes('/-/attestations'), 'asked of the registry itself, whatever it names')
})

t.test('without published keys no signature is recorded', async (t) => {
  const { directory, run } = await testApplication(t)
  process.env.npm_config_registry = (await fakeRegistry(t, [npm.signed(sample('1.0.0'))])).registry
  t.equal((await run('module-install', '--yes', '@acme/hello')).exitCode, 0)
  t.notOk((await readLockFile(directory)).modules.hello?.signed)
})

t.test('a version without the signature or provenance of the previous one is refused', async (t) => {
  const { root, directory, run } = await testApplication(t)
  const versions = [npm.signed(sample('1.0.0')), sample('1.1.0'), npm.signed(sample('1.2.0'))]
  process.env.npm_config_registry = (await fakeRegistry(t, versions, [npm.key])).registry
  t.equal((await run('module-install', '--yes', '@acme/hello@1.0.0')).exitCode, 0)
  const lock = await readFile(join(directory, 'modules.lock.json'), 'utf8')
  const lost = await run('module-install', '--yes', '@acme/hello@1.1.0')
  t.match(lost, refused)
  t.match(lost.json.error.message, /no signature, and the installed 1\.0\.0/)
  t.equal(await readFile(join(directory, 'modules.lock.json'), 'utf8'), lock)

  // As if the previous had been attested, in the lock and on record.
  const files = ['modules.lock.json', join('.app', 'generations', '1.json')].map((name) =>
    join(directory, name),
  )
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')))
  const write = (edit: (text: string) => string) =>
    Promise.all(files.map((file, index) => writeFile(file, edit(texts[index] as string))))
  await write((text) => text.replace('"provenance": false', '"provenance": true'))
  const unattested = await run('module-install', '--yes', '@acme/hello@1.2.0')
  t.match(unattested, refused)
  t.match(unattested.json.error.message, /no provenance/)
  await write((text) => text)
  t.equal((await run('module-install', '--yes', '@acme/hello@1.2.0')).exitCode, 0)
  const file = await sampleTarball(join(root, 'hello.tgz'), { version: '1.3.0' })
  t.equal((await run('module-install', '--yes', file)).exitCode, 0, 'a file is what the operator trusts')
})
