import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import t, { type Test } from 'tap'
import { fakeRegistry, published } from '../../../packages/installer/test/fake-registry.ts'
import { sampleFiles, sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { testApplication } from '../run-app.ts'

const library = dirname(fileURLToPath(import.meta.resolve('@cyclonedx/cyclonedx-library/package.json')))

/** Checks a document against the published schema of CycloneDX 1.6. */
async function isValid(t: Test, document: unknown): Promise<void> {
  const read = async (name: string) =>
    JSON.parse(await readFile(join(library, 'res', 'schema', `${name}.SNAPSHOT.schema.json`), 'utf8'))
  const ajv = new Ajv({ strict: false, allErrors: true })
  ;(formats as unknown as (ajv: Ajv) => void)(ajv)
  ajv.addFormat('iri-reference', true).addFormat('idn-email', true)
  for (const name of ['spdx', 'jsf-0.82', 'cryptography-defs']) {
    ajv.addSchema(await read(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`)
  }
  const validate = ajv.compile(await read('bom-1.6'))
  t.ok(validate(document), JSON.stringify(validate.errors?.slice(0, 3)))
}

t.test('sbom prints the host, the modules and their dependencies', async (t) => {
  const { root, run } = await testApplication(t)
  const deep = published({ name: 'deep', version: '2.0.0', license: 'see LICENSE' })
  const word = published({
    name: 'word',
    version: '1.0.0-b',
    license: 'MIT OR ISC',
    dependencies: { deep: '*' },
  })
  const { 'package.json': json, ...files } = sampleFiles({
    json: { dependencies: { word: '^1.0.0-b' }, license: 'ISC' },
  })
  const hello = published(JSON.parse(json as string), files)
  process.env.npm_config_registry = (await fakeRegistry(t, [hello, word, deep])).registry
  const mine = await sampleTarball(join(root, 'mine.tgz'), { id: 'mine' })
  const installed = await run('module-install', '--yes', '@acme/hello', mine)
  t.equal(installed.exitCode, 0, installed.stdout)

  const { exitCode, json: bom } = await run('sbom')
  t.equal(exitCode, 0)
  await isValid(t, bom)
  t.match(bom, { bomFormat: 'CycloneDX', specVersion: '1.6' })
  // biome-ignore lint/suspicious/noExplicitAny: parts of the document
  const part = (name: string) => bom.components.find((one: any) => one.name === name)
  const sha512 = (data: Buffer) => createHash('sha512').update(data).digest('hex')
  t.match(part('hello'), {
    'bom-ref': 'hello@1.0.0',
    group: '@acme',
    purl: 'pkg:npm/%40acme/hello@1.0.0',
    hashes: [{ alg: 'SHA-512', content: sha512(hello.tarball) }],
    licenses: [{ expression: 'ISC' }],
  })
  t.match(part('word'), {
    purl: 'pkg:npm/word@1.0.0-b',
    hashes: [{ content: sha512(word.tarball) }],
    licenses: [{ expression: 'MIT OR ISC' }],
  })
  t.match(part('deep').licenses, [{ license: { name: 'see LICENSE' } }])
  t.match(part('mine'), { purl: undefined, properties: [{ value: 'mine' }, { value: 'file:../mine.tgz' }] })
  t.match(part('cli'), { type: 'framework', group: '@mortise', properties: [{ value: 'host' }] })
  const of = (ref: string) =>
    bom.dependencies.find((one: { ref: string }) => one.ref === ref).dependsOn as string[]
  t.match(of('application'), [/^hello@/, /^host@/, /^mine@/])
  t.match(of('hello@1.0.0'), ['hello@1.0.0/node_modules/word', part('module-sdk')['bom-ref']])
  t.strictSame(of('hello@1.0.0/node_modules/word'), ['hello@1.0.0/node_modules/deep'])
  t.ok(part('fastify'), 'with the dependencies of the host')
})
