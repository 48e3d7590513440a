// `npm test`: the tests, storage and modules on both engines. On a PostgreSQL of its own, unless
// APP_TEST_DATABASE_URL names one; each test has a schema of its own there.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const { APP_TEST_DATABASE_URL: given } = process.env
const postgres = given
  ? undefined
  : await (await import('../host/test/storage/postgres/start-postgres.ts')).startPostgres({ durable: false })
try {
  process.exitCode = await tap(given ?? postgres.url)
} finally {
  await postgres?.stop()
}

function tap(url) {
  const bin = fileURLToPath(new URL('../node_modules/.bin/tap', import.meta.url))
  const child = spawn(bin, process.argv.slice(2), {
    stdio: 'inherit',
    env: { ...process.env, APP_TEST_DATABASE_URL: url },
    shell: process.platform === 'win32',
  })
  // Ctrl+C reaches the tests as well: their end is waited for.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve(code ?? 1))
  })
}
