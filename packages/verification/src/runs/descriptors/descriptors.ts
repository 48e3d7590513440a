import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Confinement } from '../../harness/confined-app.ts'
import { Random } from '../../harness/random.ts'
import { repeat, skipped } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runDescriptors } from './run-descriptors.ts'

export const descriptors: Verification = {
  promise:
    'A host that may open few files accepts fewer connections: it loses no acknowledged purchase, stays reachable for commands, and fills no log.',
  run: (options) =>
    repeat(options, async (seed, folder) => {
      const random = new Random(seed)
      const most = random.between(220, 400)
      const limited: Confinement = ['sh', '-c', `ulimit -n ${most} && exec "$@"`, 'sh']
      const [shell, ...words] = limited as [string, ...string[]]
      const canLimit = await promisify(execFile)(shell, [...words, 'true']).then(
        () => true,
        () => false,
      )
      if (!canLimit) return skipped('a process cannot be limited here (ulimit -n)')
      return await runDescriptors(folder, limited, most, random)
    }),
}
