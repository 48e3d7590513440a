import type { Command } from '../terminal/command.ts'
import { audit } from './audit.ts'
import { backup } from './backup.ts'
import { bundle } from './bundle.ts'
import { config } from './config.ts'
import { doctor } from './doctor.ts'
import { events } from './events.ts'
import { hostUpgrade } from './host-upgrade.ts'
import { init } from './init.ts'
import { migrateData } from './migrate-data.ts'
import { moduleDisable } from './module-disable.ts'
import { moduleEnable } from './module-enable.ts'
import { moduleHistory } from './module-history.ts'
import { moduleInfo } from './module-info.ts'
import { moduleInstall } from './module-install.ts'
import { moduleList } from './module-list.ts'
import { moduleManifest } from './module-manifest.ts'
import { moduleRemove } from './module-remove.ts'
import { moduleRollback } from './module-rollback.ts'
import { moduleUpgrade } from './module-upgrade.ts'
import { openapi } from './openapi.ts'
import { restart } from './restart.ts'
import { restore } from './restore.ts'
import { start } from './start.ts'
import { token } from './token.ts'

export const commands: readonly Command[] = [
  init,
  start,
  restart,
  moduleInstall,
  moduleRemove,
  moduleUpgrade,
  moduleEnable,
  moduleDisable,
  moduleRollback,
  moduleHistory,
  moduleList,
  moduleInfo,
  moduleManifest,
  hostUpgrade,
  config,
  audit,
  events,
  doctor,
  backup,
  restore,
  migrateData,
  bundle,
  token,
  openapi,
]
