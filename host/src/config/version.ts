import { createRequire } from 'node:module'
import satisfies from 'semver/functions/satisfies.js'

/** The version of this host, which modules' `host` ranges are held against. */
export const hostVersion: string = createRequire(import.meta.url)('../../package.json').version

/** Whether a module that names `range` runs on a host; a prerelease counts as what it leads to. */
export const isInHostRange = (range: string, version = hostVersion) =>
  satisfies(version, range, { includePrerelease: true })
