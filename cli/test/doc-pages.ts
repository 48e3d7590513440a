import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const script = new URL('../../.dev/reference-pages.js', import.meta.url)

let reference: Promise<Map<string, string>> | undefined

/** The pages below `docs`: those of the repository, and the reference as the site would have it. */
export async function docPages(): Promise<Map<string, string>> {
  reference ??= import(script.href).then(({ referencePages }) => referencePages())
  const generated = Array.from(await reference, ([name, text]) => [`reference/${name}`, text] as const)
  const all = await readdir(join(root, 'docs'), { recursive: true })
  const names = all.filter(
    (name) => name.endsWith('.md') && !name.startsWith('reference/') && !name.includes('node_modules'),
  )
  const read = names.map(async (name) => [name, await readFile(join(root, 'docs', name), 'utf8')] as const)
  return new Map([...(await Promise.all(read)), ...generated])
}
