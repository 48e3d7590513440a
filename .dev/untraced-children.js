// Loaded into each test: tap would trace every process that a test starts, for coverage that we do not ask for.
// Tracing needs what the probe's child may not do, and costs an `app` command more than it takes itself.
import processOnSpawn from 'process-on-spawn'

processOnSpawn.removeAllListeners()
delete process.env.NODE_OPTIONS
