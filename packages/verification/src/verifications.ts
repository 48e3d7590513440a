import type { Verification } from './harness/define-run.ts'
import { balance } from './runs/balance/balance.ts'
import { changesAtStart } from './runs/changes-at-start/changes-at-start.ts'
import { clock } from './runs/clock/clock.ts'
import { descriptors } from './runs/descriptors/descriptors.ts'
import { duplicates } from './runs/duplicates/duplicates.ts'
import { failingCalls } from './runs/failing-calls/failing-calls.ts'
import { fullDisk } from './runs/full-disk/full-disk.ts'
import { hanging } from './runs/hanging/hanging.ts'
import { jobs } from './runs/jobs/jobs.ts'
import { kill } from './runs/kill/kill.ts'
import { linearizability } from './runs/linearizability/linearizability.ts'
import { misbehaving } from './runs/misbehaving/misbehaving.ts'
import { move } from './runs/move/move.ts'
import { outbox } from './runs/outbox/outbox.ts'
import { overload } from './runs/overload/overload.ts'
import { postgres } from './runs/postgres/postgres.ts'
import { powerCut } from './runs/power-cut/power-cut.ts'
import { powerLoss } from './runs/power-loss/power-loss.ts'
import { properties } from './runs/properties/properties.ts'
import { responsive } from './runs/responsive/responsive.ts'
import { shares } from './runs/shares/shares.ts'
import { soak } from './runs/soak/soak.ts'
import { stock } from './runs/stock/stock.ts'
import { streams } from './runs/streams/streams.ts'
import { temporaryFolder } from './runs/temporary-folder/temporary-folder.ts'

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
  misbehaving,
  'changes-at-start': changesAtStart,
  duplicates,
  outbox,
  jobs,
  streams,
  linearizability,
  stock,
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
