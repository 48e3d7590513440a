import { createRequire } from 'node:module'
import satisfies from 'semver/functions/satisfies.js'

/** The version of this host, to compare with the `host` ranges of modules. */
export const hostVersion: string = createRequire(import.meta.url)('../../package.json').version

/** Whether a module with `range` runs on a host; a prerelease counts as its release. */
export const isInHostRange = (range: string, version = hostVersion) =>
  satisfies(version, range, { includePrerelease: true })
