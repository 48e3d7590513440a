import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const checkout = fileURLToPath(new URL('../../', import.meta.url))

/** The shell lines below each heading of docs/operating.md. */
export async function sections(): Promise<Map<string, string[]>> {
  const page = await readFile(join(checkout, 'docs', 'operating.md'), 'utf8')
  const found = page.matchAll(/^##+ (.+)$([\s\S]*?)(?=^##|(?![\s\S]))/gm)
  return new Map(
    Array.from(found, ([, heading = '', body = '']) => {
      const blocks = Array.from(body.matchAll(/^```sh\n([\s\S]*?)^```$/gm), ([, block]) => block as string)
      const lines = blocks.join('').replaceAll('\\\n', '').split('\n')
      return [heading, lines.filter((line) => line !== '')] as const
    }),
  )
}

/** The headings that `disasters.trial.test.ts` follows. */
export const disasters = [
  'The lock is lost',
  'The database is lost',
  'The wrong volume is mounted',
  'The packages are lost',
  'A package is withdrawn from its registry',
  'An upgrade turns out to be bad a day later',
  'A full disk',
] as const
