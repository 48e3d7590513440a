import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { hostVersion } from '@mortise/host'
import { packed } from './tarball.ts'

export interface SampleOptions {
  readonly id?: string
  readonly name?: string
  readonly version?: string
  readonly manifest?: Readonly<Record<string, unknown>>
  readonly json?: Readonly<Record<string, unknown>>
  /** The body of the plugin; by default it returns its one route. */
  readonly plugin?: string
  /** Instead of the whole main file. */
  readonly main?: string
  readonly files?: Readonly<Record<string, string>>
}

/** The files of a small module: `GET /<id>` returns its version. */
export function sampleFiles(options: SampleOptions = {}): Record<string, string> {
  const { id = 'hello', version = '1.0.0' } = options
  const { name = `@acme/${id}`, plugin = respondVersion(id, version) } = options
  const json = {
    name,
    version,
    type: 'module',
    exports: './index.js',
    peerDependencies: { '@mortise/module-sdk': '^1.0.0' },
    mortise: { id, host: `^${hostVersion}`, routes: [`GET /${id}`], ...options.manifest },
    ...options.json,
  }
  const main = `import { defineModule } from '@mortise/module-sdk'\nexport default defineModule('${id}').plugin(async (app, context) => {\n${plugin}\n})\n`
  return { 'package.json': JSON.stringify(json), 'index.js': options.main ?? main, ...options.files }
}

export const respondVersion = (id: string, version: string) =>
  `app.get('/${id}', { config: { access: 'public' } }, async () => ({ version: '${version}' }))`

/** Code for a loop that blocks the event loop, and leaves the processor to the other tests. */
export const sleep = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)'
/** Code that never returns. */
export const endlessLoop = `for (;;) ${sleep}`

/** A small module in `folder`. @returns the folder */
export async function sampleFolder(folder: string, options?: SampleOptions): Promise<string> {
  for (const [path, text] of Object.entries(sampleFiles(options))) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return folder
}

/** A small module as a `.tgz` file. @returns the file */
export async function sampleTarball(file: string, options?: SampleOptions): Promise<string> {
  await writeFile(file, packed(sampleFiles(options)))
  return file
}
