import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { isLoaded, isServing, moduleStates } from '../../src/modules/module-state.ts'

const root = join(import.meta.dirname, '../../../..')

t.test('a module serves only if it is loaded, and only an active one serves', async (t) => {
  const serving = moduleStates.filter((state) => isServing({ state }))
  t.strictSame(serving, ['active'])
  t.ok(serving.every((state) => isLoaded({ state })))
})

t.test(
  'only one file reads the decision in the lock file, and nobody decides by "active" alone',
  async (t) => {
    const owners = [
      'packages/application/src/modules/decision.ts',
      'packages/application/src/modules/module-state.ts',
    ]
    for (const folder of ['packages/application/src', 'host/src', 'packages/installer/src', 'cli/src']) {
      for (const path of await readdir(join(root, folder), { recursive: true })) {
        const file = join(folder, path)
        if (!file.endsWith('.ts') || owners.includes(file)) continue
        const text = await readFile(join(root, file), 'utf8')
        t.notMatch(text, /locked\w*\??\.enabled|\{ enabled \}|modules\[\w+\]\??\.enabled/, file)
      }
    }
  },
)
