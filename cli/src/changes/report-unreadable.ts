import type { Generations } from '@mortise/host'
import { asFailure } from '../terminal/explain.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Names the generations left out because their records cannot be read, with the reason. */
export function reportUnreadable({ unreadable }: Generations, terminal: Terminal): void {
  for (const { generation, error } of unreadable) {
    terminal.note(`Skipped generation ${generation}: ${asFailure(error).message}`)
  }
}
