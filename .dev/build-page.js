// The page of packages/web-console, built by Vite. Where only what `npm start` needs is installed, there is no Vite: the
// module says then that its page is not built.
import { readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('../packages/web-console/', import.meta.url))
const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Whether a file of the page has changed since it was built. */
export function pageIsStale() {
  const built = timeOf(join(folder, 'dist', 'page', 'index.html'))
  const sources = readdirSync(join(folder, 'page'), { recursive: true })
  return sources.some((path) => timeOf(join(folder, 'page', path)) > built)
}

export async function buildPage() {
  let vite
  try {
    vite = createRequire(join(folder, 'package.json')).resolve('vite')
  } catch {
    return
  }
  const { build } = await import(vite)
  await build({ configFile: join(folder, 'page', 'vite.config.ts') })
}
