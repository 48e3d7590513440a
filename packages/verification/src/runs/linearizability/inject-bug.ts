import { registerHooks } from 'node:module'

/** Replaces one piece of text in a file when the file is loaded. */
export interface Edit {
  /**
   * The folder of a package, in this checkout or with its version in a store, and the file in it.
   */
  readonly package: string
  readonly file: string
  /** Occurs once in the file. White space matches any white space. */
  readonly text: string
  readonly becomes: string
}

/**
 * Makes this process load code with the edits. The files stay as they are.
 * @returns the edits whose file has not been loaded yet
 */
export function plant(edits: readonly Edit[]): () => Edit[] {
  const waiting = new Set(edits)
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const here = edits.filter((edit) => isIn(edit, url))
      if (here.length === 0) return loaded
      for (const edit of here) waiting.delete(edit)
      return { ...loaded, source: here.reduce(replaceOnce, String(loaded.source)) }
    },
  })
  return () => [...waiting]
}

function isIn(edit: Edit, url: string): boolean {
  if (!url.endsWith(`/${edit.file}`)) return false
  const [folder = ''] = url
    .slice(0, -edit.file.length - 1)
    .split('/')
    .slice(-1)
  return folder.replace(/^@mortise\+/, '').replace(/@.*/, '') === edit.package
}

/** @throws {Error} if the text does not occur exactly once, because the code has changed */
export function replaceOnce(source: string, { file, text, becomes }: Edit): string {
  const words = text
    .trim()
    .split(/\s+/)
    .map((word) => word.replace(/[^\w]/g, '\\$&'))
  const found = [...source.matchAll(new RegExp(words.join('\\s+'), 'g'))]
  const [{ index, 0: present } = { index: 0, 0: '' }] = found
  if (found.length !== 1) throw new Error(`${file} has ${found.length} times: ${text}`)
  return source.slice(0, index) + becomes + source.slice(index + present.length)
}
