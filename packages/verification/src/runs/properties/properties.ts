import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { defineRun } from '../../harness/define-run.ts'

const root = fileURLToPath(new URL('../../../../../', import.meta.url))

/** The property tests, and their random cases per round; `npm test` tries few. */
const tests = {
  'packages/storage/test/sqlite/undo.property.test.ts': 6,
  'packages/storage/test/sqlite/group-commit.property.test.ts': 400,
  'packages/api-purchase/test/cursor.property.test.ts': 30,
}

export const properties = defineRun({
  promise:
    'For any sequence of steps, applied migrations can be undone, transactions behave in a group as alone, and a walk by cursor sees each lasting row once.',
  engines: () => ['postgres'],
  async round(round) {
    // Each test has a schema of its own on the server.
    const server = new URL(round.database as string)
    server.searchParams.delete('schema')
    for (const [file, runs] of Object.entries(tests)) {
      const report = await failureOf(file, {
        PROPERTY_RUNS: `${runs}`,
        PROPERTY_SEED: `${round.seed}`,
        APP_TEST_DATABASE_URL: server.href,
      })
      if (report === undefined) round.count('cases', runs)
      else round.fail(`${file}:\n${report}`)
    }
  },
})

/** The message of the failed test. */
async function failureOf(file: string, environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const setRuns = new URL('../../../test/runs/properties/set-runs.ts', import.meta.url).href
  const child = spawn(process.execPath, ['--import', setRuns, file], {
    cwd: root,
    env: { ...process.env, TAP_TIMEOUT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  const report = await text(child.stdout)
  return (await ended) === 0 ? undefined : report
}
