import { existsSync } from 'node:fs'

/** A path that is not taken: `path`, or `path-2` and so on. */
export function freeName(path: string): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? path : `${path}-${number}`
    if (!existsSync(name)) return name
  }
}
