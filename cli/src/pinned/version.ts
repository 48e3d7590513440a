import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownFolder } from './pinned-host.ts'

/** The version of this package. */
export const version: string = JSON.parse(readFileSync(join(ownFolder, 'package.json'), 'utf8')).version
