import { describeElsewhere, describeModule, planText } from '@mortise/installer'
import { Failure } from '@mortise/installer/failures'
import { stateText } from '@mortise/installer/store'
import type { Call, Command } from '../terminal/command.ts'

export const command: Command = {
  examples: [
    'app module-info api-cart',
    'app module-info ./my-module',
    'app module-info @acme/api-review@^2',
  ],

  async run(call) {
    const { terminal } = call
    const description = await describe(call)
    const { state, reason, until } = description
    const installed = state === null ? 'Not installed.' : `Installed, ${stateText({ state, reason, until })}.`
    terminal.result(description, `${planText(description)}\n${installed}`)
  },
}

/** Without an application no module is installed, but any package can be described. */
async function describe({ arguments: [spec], options, terminal, application }: Call) {
  let directory: string
  try {
    directory = await application()
  } catch (error) {
    const nowhere = error instanceof Failure && error.code === 'no-application' && options.dir === undefined
    if (!nowhere) throw error
    return await describeElsewhere(spec as string, terminal)
  }
  return await describeModule(directory, spec as string, terminal)
}
