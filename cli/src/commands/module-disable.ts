import { planOptions } from '@mortise/installer'
import type { Command } from '../terminal/command.ts'
import { switchModules } from './change-installed.ts'

export const command: Command = {
  options: planOptions,
  examples: ['app module-disable api-purchase'],
  changes: true,

  run: (call) => switchModules(call, 'disable'),
}
