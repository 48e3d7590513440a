import { existsSync } from 'node:fs'

/** A free path: `path` with its `ending`, or else `path-2` with it, and so on. */
export function unusedPath(path: string, ending = ''): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? `${path}${ending}` : `${path}-${number}${ending}`
    if (!existsSync(name)) return name
  }
}
