import { existsSync, readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { ratios } from './format-report.ts'
import type { Comparison, Cost, Report } from './run-benchmark.ts'

/** The last recorded run on each engine, and what is made of it: a chart and two tables. */

export type Engine = 'sqlite' | 'postgres'

export interface Recorded extends Report {
  readonly rounds: number
  readonly seconds: number
}

const engines = { sqlite: 'SQLite', postgres: 'PostgreSQL' } as const
const results = new URL('../results/', import.meta.url)
const fileOf = (engine: Engine) => new URL(`${engine}.json`, results)
export const chartFile = new URL('throughput.svg', results)

const [BEGIN, END] = ['<!-- made by the benchmark, with --record -->\n\n', '\n\n<!-- end -->']

/** The files with a table, and what makes it. */
export const tables = [
  [new URL('../../../README.md', import.meta.url), ratiosTable],
  [new URL('../README.md', import.meta.url), countsTable],
] as const

/** Stores a run, and makes chart and tables again. */
export async function record(engine: Engine, recorded: Recorded): Promise<void> {
  await writeFile(fileOf(engine), `${JSON.stringify(recorded, null, 2)}\n`)
  await writeFile(chartFile, drawChart())
  for (const [file, table] of tables) await writeFile(file, withTable(await readFile(file, 'utf8'), table()))
}

/** What was recorded of the host and the bare servers, for each engine. */
function figures(): { engine: string; comparisons: Comparison[]; costs: Cost[] }[] {
  const recorded = (Object.keys(engines) as Engine[]).filter((engine) => existsSync(fileOf(engine)))
  return recorded.map((engine) => {
    const { comparisons, costs } = JSON.parse(readFileSync(fileOf(engine), 'utf8')) as Recorded
    return {
      engine: engines[engine],
      comparisons: comparisons.filter(({ against }) => against.startsWith('bare')),
      costs: costs.filter(({ server }) => server === 'host' || server.startsWith('bare')),
    }
  })
}

/** A text with its table replaced. */
export function withTable(text: string, table: string): string {
  return `${text.slice(0, text.indexOf(BEGIN) + BEGIN.length)}${table}${text.slice(text.indexOf(END))}`
}

function ratiosTable(): string {
  const rows = figures().flatMap(({ engine, comparisons }) =>
    comparisons.map(({ scenario, against, throughput, cpu }) => [
      ...[engine, code(scenario), against],
      ...[ratios(throughput), ratios(cpu)],
    ]),
  )
  return toTable(['', 'Request', 'Mortise ÷', 'Throughput', 'CPU per request'], rows)
}

function countsTable(): string {
  const rows = figures().flatMap(({ engine, costs }) =>
    costs.map(({ scenario, server, statements, roundTrips, trees, written, allocated }) => [
      ...[engine, code(scenario), server],
      ...[statements, roundTrips, trees].map((count) => `${count ?? ''}`),
      ...[written, allocated].map((bytes) => (bytes / 1000).toFixed(1)),
    ]),
  )
  const counts = ['Statements', 'Round trips', 'B-trees', 'KB written', 'KB allocated']
  return toTable(['', 'Request', 'Server', ...counts], rows)
}

const code = (scenario: string) => scenario.replace(/^\S+ [^\s,]+/, '`$&`')

const toTable = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

const [ROW, LABEL, UNIT, LEFT] = [22, 400, 150, 10]

/** Bars of the host's throughput, where that of the bare server is 1. */
export function drawChart(): string {
  const lines: string[] = []
  let y = 30
  const text = (x: number, content: string, more = '') =>
    lines.push(`<text x="${x}" y="${y}"${more}>${content}</text>`)
  for (const { engine, comparisons } of figures()) {
    text(LEFT, engine, ' font-weight="bold"')
    y += ROW
    for (const { scenario, against, throughput } of comparisons) {
      const { median } = throughput
      text(LEFT, `${scenario} ÷ ${against}`)
      lines.push(
        `<rect x="${LABEL}" y="${y - 12}" width="${Math.round(median * UNIT)}" height="14" fill="#3b7dd8"/>`,
      )
      text(LABEL + Math.round(Math.max(1, median) * UNIT) + 8, median.toFixed(2))
      y += ROW
    }
    y += ROW / 2
  }
  const one = LABEL + UNIT
  lines.push(`<line x1="${one}" y1="36" x2="${one}" y2="${y - ROW}" stroke="#d33"/>`)
  text(LEFT, 'Requests per second of Mortise ÷ those of the bare server (red line). Longer is better.')
  const widest = Math.max(
    ...figures().flatMap(({ comparisons }) => comparisons.map(({ throughput }) => throughput.median)),
  )
  const width = LABEL + Math.round(Math.max(1, widest) * UNIT) + 60
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y + 14}" font-family="sans-serif" font-size="13">
<title>Requests per second of Mortise ÷ those of bare servers</title>
<rect width="100%" height="100%" fill="#fff"/>
${lines.join('\n')}
</svg>
`
}
