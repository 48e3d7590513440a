import { balance } from './balance/balance.ts'
import { clock } from './clock/clock.ts'
import { killPoints } from './kill-points/kill-points.ts'
import { linearizability } from './linearizability/linearizability.ts'
import { move } from './move/move.ts'
import { outbox } from './outbox/outbox.ts'
import { overload } from './overload/overload.ts'
import { postgres } from './postgres/postgres.ts'
import { soak } from './soak/soak.ts'
import { streams } from './streams/streams.ts'
import { twins } from './twins/twins.ts'
import type { Verification } from './verification.ts'

/** By the name that `npm run verify` takes, in the order of docs/reliability.md. */
export const verifications: Readonly<Record<string, Verification>> = {
  'kill-points': killPoints,
  twins,
  outbox,
  streams,
  linearizability,
  postgres,
  clock,
  overload,
  balance,
  soak,
  move,
}
