import type { Command } from '../command.ts'
import { init } from './init.ts'
import { moduleInfo } from './module-info.ts'
import { moduleInstall } from './module-install.ts'
import { moduleList } from './module-list.ts'
import { moduleRemove } from './module-remove.ts'
import { openapi } from './openapi.ts'
import { start } from './start.ts'
import { token } from './token.ts'

export const commands: readonly Command[] = [
  init,
  start,
  moduleInstall,
  moduleRemove,
  moduleList,
  moduleInfo,
  token,
  openapi,
]
