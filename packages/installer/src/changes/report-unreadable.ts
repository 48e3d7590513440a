import type { Generations } from '@mortise/application'
import { asFailure } from '../reporting/explain.ts'
import type { Reporter } from '../reporting/reporter.ts'

/** Names the generations left out because their records cannot be read, with the reason. */
export function reportUnreadable({ unreadable }: Generations, terminal: Reporter): void {
  for (const { generation, error } of unreadable) {
    terminal.note(`Skipped generation ${generation}: ${asFailure(error).message}`)
  }
}
