import { spawnSync } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { temporaryFolder } from '../../packages/application/test/application-folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = await readFile(join(root, 'docs/architecture.md'), 'utf8')

/** The rooms of each package as the page has them, in its order. */
const map = new Map(
  [...page.matchAll(/^### (\S+)\n([\s\S]*?)(?=^##)/gm)].map(([, folder, text]) => [
    folder as string,
    [...(text as string).matchAll(/^- `([\w-]+)\/`: (.+)$/gm)].map(([, room, purpose]) => ({
      room,
      purpose,
    })),
  ]),
)

async function foldersOf(directory: string): Promise<string[]> {
  const entries = await readdir(join(root, directory), { withFileTypes: true }).catch(() => [])
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
}

t.test('the page fits on two screens', async (t) => {
  t.ok(page.split('\n').length <= 160)
})

t.test('the map has every room of every package, and no other', async (t) => {
  const packages = ['host', 'cli', ...(await foldersOf('packages')).map((name) => `packages/${name}`)]
  for (const folder of packages) {
    const rooms = (map.get(folder) ?? []).map(({ room }) => room)
    t.same(rooms.toSorted(), (await foldersOf(`${folder}/src`)).toSorted(), folder)
    t.ok(rooms.length <= 10, `${folder} has at most 10 rooms`)
    for (const { purpose = '' } of map.get(folder) ?? []) t.notMatch(purpose, /\. /, 'one sentence')
  }
  t.same(
    [...map.keys()].filter((folder) => !packages.includes(folder)),
    [],
  )
})

t.test('rooms import only those above them in the map', async (t) => {
  const wrong: string[] = []
  for (const [folder, rooms] of map) {
    const order = rooms.map(({ room }) => room)
    const files = await readdir(join(root, folder, 'src'), { recursive: true })
    for (const file of files.filter((name) => name.endsWith('.ts') && name.includes('/'))) {
      const from = order.indexOf(file.split('/')[0])
      const text = await readFile(join(root, folder, 'src', file), 'utf8')
      for (const [, specifier] of text.matchAll(/from '(\.\.?\/[^']+)'/g)) {
        const to = order.indexOf(normalize(join(dirname(file), specifier as string)).split('/')[0])
        if (to > from) wrong.push(`${folder}/src/${file} imports ${specifier}`)
      }
    }
  }
  t.same(wrong, [])
})

t.test('lint refuses folders in a circle, without a circle of files', async (t) => {
  const folder = await temporaryFolder(t)
  const files = {
    'host/src/http/server.ts': "import '../callers/guest.ts'",
    'host/src/http/problem.ts': 'export const problem = 1',
    'host/src/callers/guest.ts': 'export const guest = 1',
    'host/src/callers/token.ts': "import '../http/problem.ts'",
    'tsconfig.json': '{}',
  }
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  const depcruise = join(root, 'node_modules/.bin/depcruise')
  const config = join(root, '.dependency-cruiser.js')
  const check = () =>
    spawnSync(process.execPath, [depcruise, '--config', config, 'host'], { cwd: folder, encoding: 'utf8' })
  t.match(check(), { status: 2, stdout: 'no-folder-circles' })
  await writeFile(join(folder, 'host/src/callers/token.ts'), '')
  t.match(check(), { status: 0 })
})
