const tokens = /[{}[\]]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}[\],:"]+/g

/**
 * Makes the value of `text`, valid JSON without duplicate keys, without letting JSON.parse near a key: V8 takes one
 * that ends in an escape for another that ends in a backslash, once it has seen that (nodejs/node#63785). Slower.
 */
export function buildJson(text: string): unknown {
  const root: unknown[] = []
  const levels: (unknown[] | Record<string, unknown>)[] = [root]
  let key: string | undefined
  for (const [token] of text.matchAll(tokens)) {
    const level = levels.at(-1)
    if (token === '}' || token === ']') levels.pop()
    else if (!Array.isArray(level) && key === undefined) key = JSON.parse(token)
    else {
      const value = token === '{' ? {} : token === '[' ? [] : JSON.parse(token)
      if (Array.isArray(level)) level.push(value)
      else if (level && key !== undefined) level[key] = value
      key = undefined
      if (token === '{' || token === '[') levels.push(value)
    }
  }
  return root[0]
}
