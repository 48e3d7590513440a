import type { Ratios } from './ratios.ts'
import type { Report } from './run-benchmark.ts'

/** Two tables. A ratio is its median, with the minimum and maximum in brackets. */
export function formatReport({ comparisons, costs }: Report): string {
  const ratiosOf = [
    ['host ÷ other server', 'throughput', 'p99 latency', 'CPU per request', 'generator busy'],
    ...comparisons.map(({ scenario, against, throughput, p99, cpu, generator }) => [
      `${scenario} ÷ ${against}`,
      ratios(throughput),
      ratios(p99),
      ratios(cpu),
      `${percent(generator.host)} ÷ ${percent(generator.other)}`,
    ]),
  ]
  const counts = [
    ['per request', 'statements', 'round trips', 'B-trees written', 'bytes written', 'bytes allocated'],
    ...costs.map(({ scenario, server, statements, roundTrips, trees, written, allocated }) =>
      [`${scenario}: ${server}`, statements, roundTrips, trees, written, allocated].map(
        (value) => `${value ?? '–'}`,
      ),
    ),
  ]
  return `${toText(ratiosOf)}\n\n${toText(counts)}`
}

function toText(rows: readonly (readonly string[])[]): string {
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

export const ratios = ({ median, least, most }: Ratios) =>
  `${median.toFixed(2)} (${least.toFixed(2)}–${most.toFixed(2)})`
const percent = (share: number) => `${Math.round(share * 100)} %`
