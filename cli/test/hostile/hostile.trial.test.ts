import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, lstat, mkdir, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { sampleTarball } from '../../../packages/installer/test/sample-module.ts'
import { runApp, testApplication } from '../run-app.ts'
import { probeCold } from '../warm-probe.ts'
import type { Corpus, Hostile } from './hostile.ts'
import { hostileModules } from './hostile-modules.ts'
import { hostileRegistries } from './hostile-registries.ts'
import { hostileTarballs } from './hostile-tarballs.ts'

// Each attempt is refused with its own words, leaves every byte of the application as it was, and runs nothing
// before its plan: running it, or a script of it, would leave a file.

const corpus: Corpus = { ...hostileTarballs, ...hostileRegistries, ...hostileModules }

const rows = Object.entries(corpus)

t.setTimeout(300_000)
probeCold()
t.ok(rows.length >= 40)

t.test('a package with hostile files is refused before its code runs', async (t) => {
  const { root, directory } = await preparedApplication(t)
  for (const [name, hostile] of rows.filter(([, { probed }]) => !probed)) {
    await t.test(name, (t) => attempt(t, hostile, root, directory))
  }
})

t.test('a package with hostile code is refused after its plan', { jobs: 6 }, async (t) => {
  const prepared = await preparedApplication(t)
  const copy = async (name: string) => {
    const root = join(prepared.root, name.replaceAll(/\W/g, '-'))
    await cp(prepared.directory, join(root, 'application'), { recursive: true })
    return root
  }
  // Those that hang are the last ones; begun first, they are waited for beside the others.
  const attempts = rows.filter(([, { probed }]) => probed).reverse()
  await Promise.all(
    attempts.map(([name, hostile]) =>
      t.test(name, { buffered: true }, async (t) => {
        const root = await copy(name)
        await attempt(t, hostile, root, join(root, 'application'))
      }),
    ),
  )
})

/** An application with a module whose route, tables and id may be wanted. */
async function preparedApplication(t: Test) {
  const application = await testApplication(t)
  const kept = await sampleTarball(join(application.root, 'kept-1.0.0.tgz'), {
    id: 'kept',
    manifest: { tables: 'kept', migrations: 'migrations' },
    files: { 'migrations/001-row.sql': 'CREATE TABLE kept_row (a TEXT);' },
  })
  t.equal((await application.run('module-install', '--yes', kept)).exitCode, 0)
  return application
}

async function attempt(t: Test, hostile: Hostile, root: string, directory: string): Promise<void> {
  const { spec, code, message, exitCode = 4, probed } = hostile
  const folder = join(root, 'hostile')
  await mkdir(folder)
  const ran = join(folder, 'ran')
  // The probe may run it, and lets it write nothing there.
  const canary = `import { writeFileSync as leaveTrace } from 'node:fs'; try { leaveTrace(${JSON.stringify(ran)}, '') } catch {}\n`
  const text = await spec({ t, folder, canary, canaryCommand: `touch ${JSON.stringify(ran)}` })
  const before = await contentsOf(directory)
  const outcome = await runApp('module-install', '--yes', text, '--json', '--dir', directory)
  if (probed) t.match(outcome.stderr, /^ {2}to go back /m, 'after its plan')
  t.match(outcome.json, { error: { code, message, exitCode, hint: String } })
  t.equal(outcome.exitCode, exitCode)
  t.notOk(existsSync(ran), 'nothing of it has run but in the probe')
  t.strictSame(await contentsOf(directory), before)
  t.notOk([root, folder, tmpdir()].some((place) => existsSync(join(place, 'escape'))))
  t.equal(({} as { polluted?: unknown }).polluted, undefined)
  await rm(folder, { recursive: true })
}

/** Every path below a folder, with its kind, mode and content; the locks of a command aside. */
async function contentsOf(directory: string): Promise<Record<string, string>> {
  const contents: Record<string, string> = {}
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const { mode } = await lstat(path)
    const content = entry.isFile()
      ? createHash('sha256')
          .update(await readFile(path))
          .digest('hex')
      : entry.isSymbolicLink()
        ? await readlink(path)
        : ''
    contents[relative(directory, path)] = `${mode.toString(8)} ${content}`
  }
  return contents
}
