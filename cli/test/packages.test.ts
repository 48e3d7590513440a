import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { indexedNames, indexedPackage } from '@mortise/installer/store'
import { publint } from 'publint'
import t from 'tap'
import { list } from 'tar'
import { packedPackages } from './packed-packages.ts'

// The packages as they would be published.

interface Tarball {
  readonly data: Buffer
  readonly json: { name: string; version: string } & Record<string, unknown>
  /** Contents by path, without `package/`. */
  readonly files: ReadonlyMap<string, string>
}

async function readTarball(file: string): Promise<Tarball> {
  const files = new Map<string, string>()
  await list({
    file,
    onReadEntry(entry) {
      const chunks: Buffer[] = []
      entry.on('data', (chunk: Buffer) => chunks.push(chunk))
      entry.on('end', () =>
        files.set(entry.path.slice('package/'.length), Buffer.concat(chunks).toString('utf8')),
      )
    },
  })
  const json = JSON.parse(files.get('package.json') ?? '')
  return { data: await readFile(file), json, files }
}

const folder = await packedPackages(t)
const names = (await readdir(folder)).filter((name) => name.endsWith('.tgz'))
const tarballs = new Map(
  await Promise.all(
    names.map(async (name) => {
      const tarball = await readTarball(join(folder, name))
      return [tarball.json.name, tarball] as const
    }),
  ),
)
const repository = 'https://github.com/mortise/mortise'

t.test('all packages have one version, and want each other in it', async (t) => {
  t.equal(tarballs.size, 14)
  const versions = new Set([...tarballs.values()].map(({ json }) => json.version))
  t.equal(versions.size, 1)
  const [version] = versions
  for (const { json } of tarballs.values()) {
    for (const [name, range] of Object.entries({
      ...(json.dependencies ?? {}),
      ...(json.peerDependencies ?? {}),
    })) {
      if (tarballs.has(name))
        t.ok([version, `^${version}`].includes(range as string), `${name} of ${json.name}`)
    }
  }
})

for (const [name, { data, json, files }] of tarballs) {
  t.test(`${name} can be published`, async (t) => {
    for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md']) t.ok(files.has(file), file)
    t.match(files.get('CHANGELOG.md'), `## ${json.version}\n`)
    const { directory } = json.repository as { directory: string }
    t.match(json, {
      license: 'MIT',
      keywords: ['mortise'],
      homepage: `${repository}/tree/main/${directory}#readme`,
      bugs: `${repository}/issues`,
      repository: { type: 'git', url: `git+${repository}.git` },
      publishConfig: { access: 'public', provenance: true },
    })
    // A new module begins with the tests of its template.
    const own = [...files.keys()].filter((file) => !file.startsWith('templates/'))
    t.same(
      own.filter((file) => /(^|\/)(test|\.tsbuildinfo.*|tsconfig\.json)(\/|$)/.test(file)),
      [],
    )
  })

  t.test(`the README of ${name} stands alone`, async (t) => {
    const targets = Array.from(
      (files.get('README.md') ?? '').matchAll(/\]\(([^)]+)\)/g),
      ([, target]) => target,
    )
    t.same(
      targets.filter((target) => !/^(https:\/\/|#)/.test(target as string)),
      [],
    )
  })

  t.test(`the source maps of ${name} point at what it ships`, async (t) => {
    const sources = [...files].flatMap(([file, text]) =>
      file.endsWith('.map')
        ? JSON.parse(text).sources.map((source: string) => posix.join(posix.dirname(file), source))
        : [],
    )
    t.same(
      sources.filter((path) => !files.has(path)),
      [],
    )
  })

  t.test(`publint and "are the types wrong" find nothing in ${name}`, async (t) => {
    const tarball = Uint8Array.from(data).buffer
    const { messages } = await publint({ pack: { tarball }, strict: true })
    t.same(messages, [])
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)))
    if (result.types === false) return t.equal(name, 'create-mortise', 'all others have types')
    // Node's resolution before ES modules, and from CommonJS, are not for packages that have ES modules only.
    const problems = result.problems.filter(
      (problem) => !('resolutionKind' in problem && /^node1(0|6-cjs)$/.test(problem.resolutionKind)),
    )
    t.same(problems, [])
  })
}

t.test('the tarballs in the command are those that are published', async (t) => {
  const index = JSON.parse(tarballs.get('@mortise/cli')?.files.get('modules/index.json') ?? '')
  t.same(Object.keys(index).sort(), indexedNames.map(indexedPackage).sort())
  for (const [name, { version, integrity, file }] of Object.entries<Record<string, string>>(index)) {
    const { data, json } = tarballs.get(name) as Tarball
    t.equal(version, json.version)
    t.equal(integrity, `sha512-${createHash('sha512').update(data).digest('base64')}`)
    t.ok(tarballs.get('@mortise/cli')?.files.has(`modules/${file}`))
  }
})
