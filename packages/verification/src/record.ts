import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { type Run, reliabilityPage } from './reliability-page.ts'
import { verifications } from './verifications.ts'

const results = new URL('../results/', import.meta.url)
const page = new URL('../../../docs/reliability.md', import.meta.url)

/** The last recorded run of each verification. */
export async function recordedRuns(): Promise<Map<string, Run>> {
  const files = await readdir(results).catch(() => [])
  const runs = await Promise.all(
    files.map(async (file): Promise<Run> => JSON.parse(await readFile(new URL(file, results), 'utf8'))),
  )
  return new Map(runs.map((run) => [run.name, run]))
}

/** Stores the figures of runs that were not skipped, and rewrites docs/reliability.md. */
export async function record(runs: readonly Run[]): Promise<void> {
  await mkdir(results, { recursive: true })
  for (const run of runs) {
    if (run.skipped !== undefined) continue
    await writeFile(new URL(`${run.name}.json`, results), `${JSON.stringify(run, null, 2)}\n`)
  }
  await writeFile(page, reliabilityPage(verifications, await recordedRuns()))
}
