import type { Command } from '../terminal/command.ts'
import { switchModules } from './switch-modules.ts'

export const moduleDisable: Command = {
  name: 'module-disable',
  summary: 'disable modules; their code and data stay',
  arguments: '<name...>',
  examples: ['app module-disable api-purchase'],
  changes: true,

  run: (call) => switchModules(call, 'disable'),
}
