import { readLockFile } from '@mortise/application'
import { billOfMaterials } from '@mortise/installer'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  examples: ['app sbom > sbom.cdx.json'],

  async run({ terminal, application }) {
    const directory = await application()
    const document = await billOfMaterials(directory, await readLockFile(directory))
    terminal.result(document, JSON.stringify(document, null, 2))
  },
}
