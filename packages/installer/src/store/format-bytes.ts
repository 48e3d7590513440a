/**
 * Above this a package is large, in bytes. The modules of Mortise have 0.1 to 0.4 MB each. Whatever a
 * package has is in every bundle, and in the store for 5 generations.
 */
export const LARGE = 10_000_000

/** For people. */
export function sizeOf(bytes: number): string {
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
