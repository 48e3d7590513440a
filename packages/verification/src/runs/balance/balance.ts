import { ownSchema } from '../../harness/own-schema.ts'
import { repeat } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { hasNginx } from './nginx.ts'
import { runBalance } from './run-balance.ts'

/** Of each host, in every other round. */
const WORKERS = 2

export const balance: Verification = {
  promise:
    'Several hosts on one PostgreSQL lose and duplicate nothing while callers switch between them, a module changes on each, and their workers are replaced.',
  run: (options) =>
    repeat(options, async (seed, folder) => {
      const { minutes, signal, onProgress } = options
      const schema = ownSchema(await options.postgres())
      const size =
        minutes === 0
          ? { hosts: 2, clients: 8, nginx: false, restarts: 1 }
          : { hosts: 3, clients: 64, nginx: hasNginx(), restarts: Number.POSITIVE_INFINITY }
      const workers = seed % 2 === 0 ? WORKERS : undefined
      try {
        return await runBalance({ folder, database: schema.url, seed, signal, onProgress, workers, ...size })
      } finally {
        await schema.drop()
      }
    }),
}
