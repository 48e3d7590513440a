import { newSource } from '../failures/index.ts'
import { confirm } from './confirm.ts'
import type { Reporter } from './reporter.ts'

/**
 * @param hint the advice of the refusal without a terminal; undefined if there is none
 * @throws {Failure}
 */
export async function askForSources(
  sources: readonly string[],
  { terminal, yes = false }: { readonly terminal: Reporter; readonly yes?: boolean },
  hint: 'package' | 'archive' | undefined,
): Promise<void> {
  if (yes || sources.length === 0) return
  const names = sources.join(' and ')
  const [are, them] = sources.length > 1 ? ['are new sources', 'them'] : ['is a new source', 'it']
  if (terminal.interactive) {
    terminal.note('A module runs with all the rights of the application.')
    await confirm(terminal, yes, `${names} ${are}. Trust ${them}?`)
  } else if (hint !== undefined) throw newSource({ hint, names, are, them })
}
