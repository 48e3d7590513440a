/**
 * A key that an object of a JSON text has twice, of which readers take one or the other; or `__proto__`, which
 * some take for something else. `text` must be valid JSON.
 */
export function duplicateKey(text: string): string | undefined {
  const levels: (Set<string> | undefined)[] = [] // undefined: an array
  let expectsKey = false
  for (let index = 0; index < text.length; index++) {
    switch (text[index]) {
      case '{':
        levels.push(new Set())
        expectsKey = true
        break
      case '[':
        levels.push(undefined)
        expectsKey = false
        break
      case '}':
      case ']':
        levels.pop()
        expectsKey = false
        break
      case ',':
        expectsKey = levels.at(-1) !== undefined
        break
      case '"': {
        const start = index++
        while (text[index] !== '"') index += text[index] === '\\' ? 2 : 1
        const keys = levels.at(-1)
        if (!expectsKey || keys === undefined) break
        const key: string = JSON.parse(text.slice(start, index + 1))
        if (key === '__proto__' || keys.has(key)) return key
        keys.add(key)
        expectsKey = false
      }
    }
  }
  return undefined
}
