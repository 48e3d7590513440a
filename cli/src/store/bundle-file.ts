import { open } from 'node:fs/promises'
import { constants, gunzipSync } from 'node:zlib'

// A bundle is one gzipped tarball of a generation: `bundle/modules.lock.json` first, as it was committed, then
// `bundle/modules/<id>/…`, each module as the store had it, dependencies included, and `bundle/host/…`, where a
// host is pinned. The hashes in the lock say what must come out.

export const lockEntry = 'bundle/modules.lock.json'
export const hostEntry = 'bundle/host'
export const moduleEntry = (id: string) => `bundle/modules/${id}`

/** Whether a file begins as a bundle does. */
export const isBundle = (file: string) => beginsWith(file, lockEntry)

/** Whether the first entry of a gzipped tarball has this name; false for what is none. */
export async function beginsWith(file: string, entry: string): Promise<boolean> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4096), 0, 4096, 0)
    const start = gunzipSync(buffer.subarray(0, bytesRead), { finishFlush: constants.Z_SYNC_FLUSH })
    return start.subarray(0, entry.length + 1).equals(Buffer.from(`${entry}\0`))
  } catch {
    return false // no gzip: whoever unpacks it says so
  } finally {
    await handle.close()
  }
}
