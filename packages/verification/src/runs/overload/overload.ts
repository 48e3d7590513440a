import { repeat } from '../../harness/repeat.ts'
import type { Verification } from '../../harness/verification.ts'
import { runOverload } from './run-overload.ts'

export const overload: Verification = {
  promise:
    'Under more requests than a host can answer, health probes on new connections are answered within a second, what is refused is 503 with Retry-After and was not done, and no acknowledged write is lost or done twice.',
  run: (options) =>
    repeat(options, (seed) =>
      runOverload(
        options.minutes === 0
          ? { seed, connections: 400, milliseconds: 2_000 }
          : { seed, connections: 2_000, milliseconds: 6_000 },
      ),
    ),
}
