// Which test files `npm test` runs, and what they need.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const include = ['cli/test/**/*.test.ts', 'host/test/**/*.test.ts', 'packages/*/test/**/*.test.ts']

/**
 * @param {string} root the checkout
 * @param {readonly string[]} words paths of test files, and words that a path has to contain, all of them; none: all files
 * @returns {string[]} paths from the root
 */
export function chooseTests(root, words) {
  const all = include.flatMap((pattern) => globSync(pattern, { cwd: root })).sort()
  const isPath = (word) => all.includes(relative(root, resolve(word)))
  const paths = words.filter(isPath).map((word) => relative(root, resolve(word)))
  const others = words.filter((word) => !isPath(word))
  if (paths.length > 0 && others.length === 0) return paths
  const found = all.filter((path) => others.every((word) => path.includes(word)))
  return [...new Set([...paths, ...found])]
}

/** Whether one of the files asks for the PostgreSQL of the run. */
export const needPostgres = (root, files) => need(root, files, /APP_TEST_DATABASE_URL|\bonEngines\b/)

/** Whether one of the files asks for the packages as they would be published. */
export const needPackages = (root, files) => need(root, files, /MORTISE_PACKAGES/)

/**
 * Whether one of the files, or of what they import beside them, has the words.
 * @param {string} root
 * @param {readonly string[]} files
 * @param {RegExp} words
 */
function need(root, files, words) {
  const seen = new Set()
  const asks = (file) => {
    if (seen.has(file) || !existsSync(file)) return false
    seen.add(file)
    const text = readFileSync(file, 'utf8')
    if (words.test(text)) return true
    const imported = [...text.matchAll(/(?:from|import) '(\.[^']+)'/g)].map(([, path]) => path)
    return imported.some((path) => !path.includes('/src/') && asks(resolve(dirname(file), path)))
  }
  return files.some((file) => asks(join(root, file)))
}
