import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'

/** Writes `files`, by path, into a folder of the test's own. */
export async function packageFolder(t: Test, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'mortise-')))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
  return folder
}

/** The package.json of a module. */
export function manifestOf(mortise: { readonly id: string } & Record<string, unknown>): string {
  return JSON.stringify({
    name: `@test/${mortise.id}`,
    version: '1.0.0',
    type: 'module',
    exports: './index.js',
    peerDependencies: { '@mortise/module-sdk': '*' },
    mortise: { host: '*', routes: [], ...mortise },
  })
}
