import { visit } from 'jsonc-parser'

/**
 * A key that an object of a JSON text has twice, since readers differ in which one they take; or `__proto__`, which
 * some take for something else. `text` must be valid JSON.
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
