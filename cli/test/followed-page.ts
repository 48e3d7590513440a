import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Lines for a shell, or an edit of a file. */
export type Step =
  | { readonly lines: readonly string[] }
  | { readonly file: string; readonly below: string; readonly code: string }
  | { readonly file: string; readonly from: string; readonly to: string }

/** The blocks of the page in their order; each one that is not for the shell says where it goes. */
export function stepsOf(markdown: string): Step[] {
  const shell = String.raw`\`\`\`sh\n(?<lines>[\s\S]*?)\`\`\``
  const insertion = String.raw`In \`(?<file>[^\`]+)\`, below\s+\`(?<below>[^\`]+)\`:\n\n\`\`\`(?:ts|js)\n(?<code>[\s\S]*?)\`\`\``
  const replacement = String.raw`In \`(?<path>[^\`]+)\`, replace\s+\`(?<from>[^\`]+)\` with\s+\`(?<to>[^\`]+)\``
  const found = markdown.matchAll(new RegExp(`${shell}|${insertion}|${replacement}`, 'g'))
  return Array.from(found, ({ groups }) => {
    const { lines, file, below, code, path, from, to } = groups as Record<string, string>
    if (lines !== undefined) return { lines: lines.trim().split('\n') }
    return (code === undefined ? { file: path, from, to } : { file, below, code }) as Step
  })
}

/** Makes the edit of a step. */
export async function edit(folder: string, step: Exclude<Step, { lines: unknown }>): Promise<void> {
  const path = join(folder, step.file)
  const before = await readFile(path, 'utf8')
  const line = before.split('\n').find((line) => 'below' in step && line.includes(step.below))
  const after =
    'below' in step
      ? before.replace(`${line}\n`, (found) => found + step.code)
      : before.replace(step.from, step.to)
  if (after === before) throw new Error(`${step.file} has no place for the edit`)
  await writeFile(path, after)
}
