import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { sampleTarball } from '../../packages/installer/test/sample-module.ts'
import { packed } from '../../packages/installer/test/tarball.ts'
import { type TestApplication, testApplication } from './run-app.ts'

const checkout = fileURLToPath(new URL('../../', import.meta.url))

export interface ReleaseOptions {
  /** The version of the host, where that is another one. */
  readonly host?: string
  /** Further migrations of the host's own tables. */
  readonly migrations?: Readonly<Record<string, string>>
  /** Files of the command, instead of those that it has. */
  readonly cli?: Readonly<Record<string, string>>
}

/**
 * Packs the command and what it is made of, as they are built, as a release of that version into a directory of tarballs. They
 * come without their third-party dependencies, which are found in the checkout that the folders of tests lie in.
 */
export async function packRelease(
  folder: string,
  version: string,
  { host = version, migrations = {}, cli = {} }: ReleaseOptions = {},
): Promise<void> {
  await mkdir(folder, { recursive: true })
  const more = Object.entries(migrations).map(([name, text]) => [`migrations/${name}`, text])
  await pack(folder, 'packages/module-sdk', {})
  await pack(folder, 'packages/storage', {})
  await pack(folder, 'packages/application', {})
  await pack(folder, 'host', { version: host }, Object.fromEntries(more))
  const below = {
    '@mortise/host': host,
    '@mortise/application': '^1.0.0',
    '@mortise/storage': '^1.0.0',
    '@mortise/module-sdk': '^1.0.0',
  }
  await pack(folder, 'packages/installer', { version, dependencies: below })
  const dependencies = { ...below, '@mortise/installer': version }
  await pack(folder, 'cli', { version, dependencies }, cli)
}

async function pack(
  folder: string,
  workspace: string,
  changes: object,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const own = join(checkout, workspace)
  const { devDependencies, optionalDependencies, ...description } = JSON.parse(
    await readFile(join(own, 'package.json'), 'utf8'),
  )
  const json = { ...description, dependencies: {}, ...changes }
  const names = (await readdir(own, { recursive: true })).filter((name) =>
    /^(?:bin\.js|dist\/.*\.js|migrations\/.*\.sql)$/.test(name),
  )
  const files = await Promise.all(names.map(async (name) => [name, await readFile(join(own, name), 'utf8')]))
  const tarball = packed({ 'package.json': JSON.stringify(json), ...Object.fromEntries(files), ...more })
  await writeFile(join(folder, `mortise-${json.name.split('/')[1]}-${json.version}.tgz`), tarball)
}

/** An application with the module hello (host ^1.0.0), and a registry that has one release. */
export async function applicationWithRelease(t: Test, version: string, options?: ReleaseOptions) {
  const application = await testApplication(t)
  await addRelease(application, version, options)
  return application
}

export async function addRelease(
  { root, directory, run }: TestApplication,
  version: string,
  options?: ReleaseOptions,
): Promise<void> {
  await packRelease(join(root, 'packages'), version, options)
  await writeFile(join(directory, '.npmrc'), '@mortise:registry=file:../packages\n')
  const { exitCode, stdout } = await run(
    'module-install',
    '--yes',
    await sampleTarball(join(root, 'hello.tgz')),
  )
  if (exitCode !== 0) throw new Error(stdout)
}
