import { mkdir, readdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hostVersion } from '@mortise/host'
import { notEmpty } from '@mortise/installer/failures'
import { writeNewDurably } from '@mortise/storage'
import { wrongModuleName } from '../failures/usage.ts'
import type { Command } from '../terminal/command.ts'

const templates = fileURLToPath(new URL('../../templates', import.meta.url))

/** Files that npm would leave out of a package, or take for its own, by their names in the templates. */
const renamed: Readonly<Record<string, string>> = {
  gitignore: '.gitignore',
  'ci.yml': '.github/workflows/ci.yml',
  'biome.template.json': 'biome.json',
  'package.template.json': 'package.json',
}

export const command: Command = {
  options: [
    ['--js', 'in JavaScript, without a build'],
    ['--minimal', 'the shortest module that works: one route, in JavaScript'],
  ],
  directory: 'the folder to create the module in (default: the current folder)',
  examples: ['app module-new wishlist', 'app module-new @acme/wishlist --js'],

  async run({ arguments: [given], options, terminal }) {
    const name = given as string
    const id = name.replace(/^@[a-z0-9][a-z0-9._-]*\//, '')
    if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(id)) throw wrongModuleName({ name })
    const parent = typeof options.dir === 'string' ? options.dir : '.'
    const folder = resolve(parent, id)
    if ((await readdir(folder).catch(() => [])).length > 0) throw notEmpty({ path: folder })
    const language = options.js === true ? 'javascript' : 'typescript'
    const parts = options.minimal === true ? ['minimal'] : ['common', language]
    const files = (
      await Promise.all(parts.map((part) => write(join(templates, part), folder, name, id)))
    ).flat()
    terminal.result(
      { folder, files: files.toSorted() },
      [
        `Created ${folder}: ${files.length} files`,
        `Next: cd ${folder}, then npm install and npm test`,
        'To see it in an application while you change it: npx app dev, in that folder',
      ].join('\n'),
    )
  },
}

/** Copies a template with the names of the module. Returns the paths of the files. */
async function write(template: string, folder: string, name: string, id: string): Promise<string[]> {
  const entries = await readdir(template, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(template.length + 1))
  return await Promise.all(
    paths.map(async (path) => {
      const to = named(renamed[path] ?? path, name, id)
      const file = join(folder, to)
      await mkdir(dirname(file), { recursive: true })
      await writeNewDurably(file, named(await readFile(join(template, path), 'utf8'), name, id))
      return to
    }),
  )
}

/** A text of a template, where the module is `@scope/my-thing`, with the names of this one. */
function named(text: string, name: string, id: string): string {
  const words = id.split('-')
  const pascal = words.map((word) => word.replace(/^./, (first) => first.toUpperCase())).join('')
  return text
    .replaceAll('@scope/my-thing', name)
    .replaceAll('my-thing', id)
    .replaceAll('my_thing', words.join('_'))
    .replaceAll('MyThing', pascal)
    .replaceAll(
      'myThing',
      pascal.replace(/^./, (first) => first.toLowerCase()),
    )
    .replaceAll('{version}', hostVersion)
}
