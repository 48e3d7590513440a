import { open } from 'node:fs/promises'
import { constants, gunzipSync } from 'node:zlib'

// A bundle is a gzipped tarball of one generation. First comes `bundle/modules.lock.json`, as
// committed; then `bundle/modules/<id>/…`, each module as in the store, with dependencies; then
// `bundle/host/…` if a host is pinned. The hashes in the lock file verify the content.

export const lockEntry = 'bundle/modules.lock.json'
export const hostEntry = 'bundle/host'
export const moduleEntry = (id: string) => `bundle/modules/${id}`

/** Whether a file begins like a bundle. */
export const isBundle = (file: string) => beginsWith(file, lockEntry)

/** Whether the first entry of a gzipped tarball has this name. False for any other file. */
export async function beginsWith(file: string, entry: string): Promise<boolean> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4096), 0, 4096, 0)
    const start = gunzipSync(buffer.subarray(0, bytesRead), { finishFlush: constants.Z_SYNC_FLUSH })
    return start.subarray(0, entry.length + 1).equals(Buffer.from(`${entry}\0`))
  } catch {
    return false // not gzip: the code that unpacks it reports that
  } finally {
    await handle.close()
  }
}
