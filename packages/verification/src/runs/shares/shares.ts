import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { promisify } from 'node:util'
import { inTemporaryFolder } from '@mortise/host'
import { skipped } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runShares } from './run-shares.ts'

/** Open files of the largest process, with a reserve. */
const OPEN_FILES = 4_600

export const shares: Verification = {
  promise:
    'Strangers who never read, hold streams open and send the longest writes block no other caller. The p99 of signed-in callers is at most twice that of an idle host, they get streams, and health probes get a response. An address adds no more to the disk than documented.',
  async run(options) {
    const reason = await whyNot()
    if (reason !== undefined) return skipped(reason)
    return await inTemporaryFolder(undefined, (directory) => runShares(directory, options))
  },
}

/** The reason why this machine cannot run it. */
async function whyNot(): Promise<string | undefined> {
  const run = promisify(execFile)
  const { stdout } = await run('sh', ['-c', 'ulimit -Hn'])
  if (Number(stdout) < OPEN_FILES)
    return `a process may open ${stdout.trim()} files (ulimit -Hn), and ${OPEN_FILES} are needed`
  const hasPerl = await run('perl', ['-MSocket', '-e', '1']).then(
    () => true,
    () => false,
  )
  if (!hasPerl) return 'perl is missing'
  const server = createServer().listen(0, '127.0.0.2')
  const hasAddresses = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  server.close()
  return hasAddresses ? undefined : 'this machine has no address 127.0.0.2'
}
