import { createRequire } from 'node:module'

/** The version of this host, which modules' `host` ranges are held against. */
export const hostVersion: string = createRequire(import.meta.url)('../package.json').version
