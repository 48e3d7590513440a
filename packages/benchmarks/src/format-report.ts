import type { Ratios } from './ratios.ts'
import type { Comparison } from './run-benchmark.ts'

/** The comparisons as a table. A ratio is its median, with the minimum and maximum in brackets. */
export function formatReport(comparisons: readonly Comparison[]): string {
  const rows = [
    ['host ÷ other server', 'throughput', 'p99 latency', 'CPU per request', 'generator busy'],
    ...comparisons.map(({ scenario, against, throughput, p99, cpu, generator }) => [
      `${scenario} ÷ ${against}`,
      ratios(throughput),
      ratios(p99),
      ratios(cpu),
      `${percent(generator.host)} ÷ ${percent(generator.other)}`,
    ]),
  ]
  const widths = (rows[0] as string[]).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] as string).length)),
  )
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd(),
  )
  return lines.join('\n')
}

const ratios = ({ median, least, most }: Ratios) =>
  `${median.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`
const percent = (share: number) => `${Math.round(share * 100)} %`
