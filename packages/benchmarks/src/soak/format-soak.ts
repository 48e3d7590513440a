import type { SoakReport } from './run-soak.ts'

/** The summary of a run: what was done, what the process holds after it, what went wrong. */
export function formatSoak({ outcomes, requests, writes, samples, failures }: SoakReport): string {
  const [first, last] = [samples[0], samples.at(-1)]
  const lines = [
    `Steps: ${Object.entries(outcomes)
      .map(([outcome, count]) => `${count} ${outcome}`)
      .join(', ')}`,
    `Requests: ${requests}, of which ${writes} acknowledged writes`,
  ]
  if (first && last && first !== last) {
    const packages = last.packages - first.packages
    const kilobytes = (last.heap - first.heap) / 1000
    lines.push(
      `Between step ${first.step} and ${last.step}: ${last.switches - first.switches} switches, ${packages} new packages, ` +
        `heap ${kilobytes >= 0 ? '+' : ''}${kilobytes.toFixed(0)} KB`,
      ...(['instances', 'handles', 'listeners', 'emitters', 'descriptors'] as const).map(
        (name) => `  ${name}: ${first[name]} → ${last[name]}`,
      ),
    )
  }
  lines.push(`Failures: ${failures.length}`, ...failures.map((text) => `  ${text}`))
  return lines.join('\n')
}
