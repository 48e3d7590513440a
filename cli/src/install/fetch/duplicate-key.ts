import { visit } from 'jsonc-parser'

/**
 * A key that an object of a JSON text has twice, because readers differ in the one they use; or
 * `__proto__`, which some readers treat specially. `text` must be valid JSON.
 * @throws {RangeError} for thousands of levels
 */
export function duplicateKey(text: string): string | undefined {
  const objects: Set<string>[] = []
  let found: string | undefined
  visit(text, {
    onObjectBegin: () => void objects.push(new Set()),
    onObjectProperty(key) {
      const keys = objects.at(-1)
      if (key === '__proto__' || keys?.has(key)) found ??= key
      keys?.add(key)
    },
    onObjectEnd: () => void objects.pop(),
  })
  return found
}
