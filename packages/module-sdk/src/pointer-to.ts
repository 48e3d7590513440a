/** The JSON Pointer (RFC 6901) to the place under these names. */
export const pointerTo = (path: readonly string[]): string =>
  path.map((name) => `/${name.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
