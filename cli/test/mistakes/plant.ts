import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { runApp } from '../run-app.ts'
import type { Mistake } from './mistakes.ts'
import { shelf } from './shelf.ts'

interface Finding {
  readonly rule: string
  readonly where: string
  readonly why: string
  readonly remedy: string
}

export async function write(folder: string, files: Readonly<Record<string, string | null>>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    if (text === null) await rm(file, { force: true })
    else await writeFile(file, text)
  }
  return folder
}

/** The module with these mistakes. */
export function planted(mistakes: readonly Mistake[]): Record<string, string | null> {
  const json = JSON.parse(shelf['package.json'] as string)
  let code = shelf['index.js'] as string
  let files: Record<string, string | null> = {}
  for (const { name, replace = {}, body, top, routes = [], manifest, json: more, files: added } of mistakes) {
    for (const [from, to] of Object.entries(replace)) {
      if (code.split(from).length !== 2) throw new Error(`${name}: ${from} is not there once`)
      code = code.replace(from, () => to)
    }
    if (body) code = code.replace('  // more\n', () => `  ${body}\n  // more\n`)
    if (top) code += `${top}\n`
    json.mortise.routes.push(...routes)
    Object.assign(json.mortise, manifest)
    Object.assign(json, more)
    files = { ...files, ...added }
  }
  return { ...shelf, 'index.js': code, 'package.json': JSON.stringify(json), ...files }
}

export async function check(folder: string, ...more: string[]): Promise<Finding[]> {
  const { stdout, stderr, exitCode } = await runApp('module-check', '--json', folder, ...more)
  const { modules, error } = JSON.parse(stdout)
  if (error) throw new Error(`${error.message} ${stderr}`)
  const { findings } = modules[0]
  if (exitCode !== (findings.length > 0 ? 4 : 0)) throw new Error(`exit code ${exitCode}`)
  return findings
}

const isOf = ({ rule, where, why = /./ }: Mistake, finding: Finding) =>
  finding.rule === rule && finding.where.startsWith(where) && why.test(finding.why)

/** Plants them, and expects exactly their findings. */
export async function finds(t: Test, mistakes: readonly Mistake[]): Promise<void> {
  const folder = await write(join(t.testdir({}), 'shelf'), planted(mistakes))
  // On SQLite alone, unless it shows on PostgreSQL only.
  const engines = mistakes.some((mistake) => mistake.postgres) ? [] : ['--no-postgres']
  const beside = mistakes.find((mistake) => mistake.beside)?.beside
  const more = beside ? ['--with', await write(join(folder, '..', 'other'), beside)] : []
  const findings = await check(folder, ...engines, ...more)
  for (const mistake of mistakes) {
    const found = findings.find((finding) => isOf(mistake, finding))
    t.ok(found, mistake.name, { found: findings })
    t.ok(found?.remedy, `${mistake.name}: what to do`)
  }
  const isAlso = ({ also = [], where }: Mistake, { rule, where: place }: Finding) =>
    also.includes(rule) && place.startsWith(where)
  const unexpected = findings.filter(
    (finding) => !mistakes.some((mistake) => isOf(mistake, finding) || isAlso(mistake, finding)),
  )
  t.strictSame(unexpected, [], 'and nothing else')
}
