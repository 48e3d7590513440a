// Which test files `npm test` runs, which of them share a process, and what they need.
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const include = ['cli/test/**/*.test.ts', 'host/test/**/*.test.ts', 'packages/*/test/**/*.test.ts']
const FILES_PER_PROCESS = 8
// What a file changes in its process, or watches there: threads, signals, globals, clocks. Variables are as they were
// when the next file begins; those that a file sets when it is loaded would not be set again.
const WHOLE_PROCESS =
  /^(import|\}) .*'node:(worker_threads|module|perf_hooks|v8|vm)'|process\.(chdir|emit|off|on|once)\b|^process\.env|globalThis|\.prototype|probeCold|'\/proc\//m
// Files of a process share the one, and what it has loaded; the others are code for children.
const HARMLESS = /\/(src\/.*|(warm-probe|kill-before-query)\.ts)$/

/**
 * @param {string} root the checkout
 * @param {readonly string[]} words paths of test files and folders, and words that a path has to contain, all of them; none: all
 *   files but the trials
 * @returns {string[]} paths from the root
 */
export function chooseTests(root, words) {
  const all = include.flatMap((pattern) => globSync(pattern, { cwd: root })).sort()
  const named = (word) => {
    const path = relative(root, resolve(word))
    return all.filter((file) => file === path || (word.includes('/') && file.startsWith(`${path}/`)))
  }
  const paths = words.flatMap(named)
  const others = words.filter((word) => named(word).length === 0)
  if (words.length === 0) return all.filter((path) => !path.endsWith('.trial.test.ts'))
  if (others.length === 0) return [...new Set(paths)]
  const found = all.filter((path) => others.every((word) => path.includes(word)))
  return found.length === 0 ? [] : [...new Set([...paths, ...found])]
}

/**
 * A process of its own for each file takes longer to start than most files take to run. Files of one package share
 * one, unless they need it for themselves.
 * @param {string} root
 * @param {readonly string[]} files
 * @returns {string[][]}
 */
export function groupTests(root, files) {
  const groups = []
  const open = new Map()
  for (const file of files) {
    if (mentions(root, file, WHOLE_PROCESS)) {
      groups.push([file])
      continue
    }
    const name = file.slice(0, file.indexOf('/test/'))
    const group = open.get(name) ?? []
    if (group.length === 0) groups.push(group)
    group.push(file)
    open.set(name, group.length < FILES_PER_PROCESS ? group : [])
  }
  return groups
}

/**
 * Whether one of the files asks for the PostgreSQL of the run.
 * @param {string} root
 * @param {readonly string[]} files
 */
export const needPostgres = (root, files) =>
  files.some((file) => mentions(root, file, /APP_TEST_DATABASE_URL|\bonEngines\b/))

/** Whether one of the files asks for the packages as they would be published. */
export const needPackages = (root, files) => files.some((file) => mentions(root, file, /MORTISE_PACKAGES/))

/** Whether a file, or what it imports beside it, has the pattern. */
function mentions(root, file, pattern) {
  const seen = new Set()
  const has = (file) => {
    if (seen.has(file) || !existsSync(file)) return false
    seen.add(file)
    const text = readFileSync(file, 'utf8')
    if (pattern.test(text)) return true
    const imported = [...text.matchAll(/(?:from|import) '(\.[^']+)'/g)].map(([, path]) => path)
    return imported.some((path) => !HARMLESS.test(path) && has(resolve(dirname(file), path)))
  }
  return has(join(root, file))
}
