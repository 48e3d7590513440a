import { balance } from './balance/balance.ts'
import { clock } from './clock/clock.ts'
import { descriptors } from './descriptors/descriptors.ts'
import { failingCalls } from './failing-calls/failing-calls.ts'
import { fullDisk } from './full-disk/full-disk.ts'
import { hanging } from './hanging/hanging.ts'
import { kill } from './kill/kill.ts'
import { linearizability } from './linearizability/linearizability.ts'
import { move } from './move/move.ts'
import { outbox } from './outbox/outbox.ts'
import { overload } from './overload/overload.ts'
import { postgres } from './postgres/postgres.ts'
import { powerCut } from './power-cut/power-cut.ts'
import { powerLoss } from './power-loss/power-loss.ts'
import { properties } from './properties/properties.ts'
import { responsive } from './responsive/responsive.ts'
import { shares } from './shares/shares.ts'
import { soak } from './soak/soak.ts'
import { streams } from './streams/streams.ts'
import { temporaryFolder } from './temporary-folder/temporary-folder.ts'
import { twins } from './twins/twins.ts'
import type { Verification } from './verification.ts'

/** By the name that `npm run verify` takes, in the order of docs/reliability.md. */
export const verifications: Readonly<Record<string, Verification>> = {
  kill,
  'power-cut': powerCut,
  'power-loss': powerLoss,
  'failing-calls': failingCalls,
  'full-disk': fullDisk,
  'temporary-folder': temporaryFolder,
  descriptors,
  hanging,
  twins,
  outbox,
  streams,
  linearizability,
  properties,
  postgres,
  clock,
  overload,
  shares,
  balance,
  responsive,
  soak,
  move,
}
