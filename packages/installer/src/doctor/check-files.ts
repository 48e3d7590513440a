import { chmod, rm, stat } from 'node:fs/promises'
import { assertOwnSecret, readConfig, secretFile } from '@mortise/application'
import { callRunningHost, controlSocket } from '@mortise/host'
import { modeOf } from '@mortise/storage'
import { identityFinding } from './check-database.ts'
import type { AsyncFindings, FixableFinding } from './finding.ts'

export async function* checkFiles(directory: string): AsyncFindings {
  yield* secretTrouble(directory)
  yield* socketTrouble(directory)
}

async function* secretTrouble(directory: string): AsyncFindings {
  const file = secretFile(directory)
  const other = await otherSecret(directory)
  if (other) return yield other
  const mode = await modeOf(file)
  if (mode === undefined) {
    if (process.env.APP_SECRET) return
    return yield {
      id: 'secret-missing',
      severity: 'warning',
      message: `${file} is missing, as in a fresh clone. Without it, the application cannot sign or accept its own tokens.`,
      hint: 'Copy it from the machine that runs the application, set APP_SECRET, or let "app start" create a new one, which makes all previous tokens invalid.',
    }
  }
  if ((mode & 0o077) === 0 || (await stat(file)).isDirectory()) return
  yield {
    id: 'secret-mode',
    severity: 'error',
    message: `${file} can be read by others (mode ${mode.toString(8)}). A reader of it can sign tokens for any caller.`,
    hint: `Run chmod 600 on it, and replace it if another user may have read it.`,
    async fix() {
      await chmod(file, 0o600)
      return 'Its mode is 600 now. Replace it if another user may have read it.'
    },
  }
}

/** Reports a lost or rotated secret. Another check reports a wrong configuration. */
async function otherSecret(directory: string): Promise<FixableFinding | undefined> {
  const config = await readConfig(directory).catch(() => undefined)
  return config && (await identityFinding(directory, (own) => assertOwnSecret(config, own)))
}

async function* socketTrouble(directory: string): AsyncFindings {
  const socket = controlSocket(directory)
  if ((await modeOf(socket)) === undefined) return
  if ((await callRunningHost(directory, 'state')) !== undefined) return
  yield {
    id: 'control-socket',
    severity: 'warning',
    message: `A killed host left ${socket}. It does no harm: the next start replaces it.`,
    hint: 'Start the application, or run "app doctor --fix".',
    async fix() {
      await rm(socket, { force: true })
      return 'Removed.'
    },
  }
}
