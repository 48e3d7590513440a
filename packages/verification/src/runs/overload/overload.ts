import { repeat } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runOverload } from './run-overload.ts'

export const overload: Verification = {
  promise:
    'Under more requests than a host can serve, health probes on new connections get a response within a second. Refused requests are 503 with Retry-After and have no effect. No acknowledged write is lost or done twice.',
  run: (options) =>
    repeat(options, (seed, directory) =>
      runOverload(
        options.minutes === 0
          ? { directory, seed, connections: 400, milliseconds: 2_000 }
          : { directory, seed, connections: 2_000, milliseconds: 6_000 },
      ),
    ),
}
