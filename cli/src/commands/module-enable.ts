import { planOptions, settleOption } from '@mortise/installer'
import type { Command } from '../terminal/command.ts'
import { switchModules } from './change-installed.ts'

export const command: Command = {
  options: [settleOption, ...planOptions],
  examples: ['app module-enable api-purchase', 'app module-enable api-purchase --settle 10'],
  changes: true,

  run: (call) => switchModules(call, 'enable'),
}
