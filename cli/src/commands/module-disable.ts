import type { Command } from '../terminal/command.ts'
import { switchModules } from './change-installed.ts'

export const command: Command = {
  examples: ['app module-disable api-purchase'],
  changes: true,

  run: (call) => switchModules(call, 'disable'),
}
