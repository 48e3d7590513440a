import { endWithParent } from '@mortise/storage'
import { Ajv } from 'ajv'
import { checkedSchemas, checkSchema } from './check-schema.ts'
import type { Faults, Question } from './evaluate-apart.ts'
import { moduleSettings } from './module-settings.ts'
import { ConfigError } from './settings.ts'

// The child process of `evaluate-apart.ts`: it responds to each question with the faults that it finds.

/** What a fault quotes comes from the module, and may be long. */
const LONGEST = 1000
const MOST = 20

await endWithParent(Number(process.argv[2]))
process.on('disconnect', () => process.exit())
process.on('message', (question: Question) => process.send?.(cut(faultsOf(question))))
process.send?.('ready')

function faultsOf(question: Question): Faults {
  try {
    if (question.kind === 'settings') moduleSettings(question.sources, question.id, question.schema)
    else {
      checkSchema(question.schema)
      new Ajv({ ...checkedSchemas, strict: false }).compile(question.schema)
    }
    return []
  } catch (error) {
    return error instanceof ConfigError ? error.wrong : [(error as Error).message]
  }
}

const cut = (faults: Faults): Faults =>
  faults.slice(0, MOST).map((fault) => (fault.length > LONGEST ? `${fault.slice(0, LONGEST)}…` : fault))
