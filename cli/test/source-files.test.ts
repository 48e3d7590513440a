import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Lines of a file: at most, and of two thirds of all files. */
const MOST = 600
const USUAL = 100

/** The sources of what is shipped, from the folder of the repository. */
async function sources(): Promise<string[]> {
  const packages = (await readdir(join(root, 'packages'))).map((name) => join('packages', name))
  const shipped = ['host', 'cli', ...packages].filter((name) => !/benchmarks|verification/.test(name))
  const below = shipped.map(async (name) => {
    if (!existsSync(join(root, name, 'src'))) return []
    const names = await readdir(join(root, name, 'src'), { recursive: true })
    return names.filter((found) => found.endsWith('.ts')).map((found) => join(name, 'src', found))
  })
  return (await Promise.all(below)).flat()
}

t.test('files have names in kebab-case that say something', async (t) => {
  const names = await sources()
  t.ok(names.length > 500)
  const name = /^(?!common\.ts)(?!.*\b(utils?|helpers?|managers?)\b)[a-z\d]+(-[a-z\d]+)*\.ts$/
  t.strictSame(
    names.filter((path) => !name.test(basename(path))),
    [],
  )
})

t.test('files are short', async (t) => {
  const names = await sources()
  const texts = await Promise.all(names.map((name) => readFile(join(root, name), 'utf8')))
  const lines = texts.map((text) => text.split('\n').length - 1)
  t.strictSame(
    names.filter((_, index) => (lines[index] as number) > MOST),
    [],
  )
  const short = lines.filter((count) => count <= USUAL).length
  t.ok(short >= (lines.length * 2) / 3, `${short} of ${lines.length} have at most ${USUAL} lines`)
})
