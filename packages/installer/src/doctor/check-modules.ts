import { unknownState } from '@mortise/application'
import { type InstalledState, installedStates } from '../store/installed-state.ts'
import type { AsyncFindings, Findings } from './finding.ts'

/** Whether the modules serve, in the running host or at its next start. */
export async function* checkModules(directory: string): AsyncFindings {
  const { url, modules } = await installedStates(directory)
  for (const module of modules) yield* findingsOf(module, url !== null)
}

function* findingsOf({ id, version, state, reason, until }: InstalledState, isRunning: boolean): Findings {
  switch (state) {
    case 'active':
    case 'disabled':
      return
    case 'failed':
      // Without a host, the check of the store reports it.
      if (!isRunning) return
      return yield {
        id: 'module-failed',
        severity: 'error',
        message: `${id} ${version} has failed: ${reason}. Its routes return 503.`,
        hint: `Correct the cause and restart the host, go back ("app module-rollback"), or disable the module ("app module-disable ${id}").`,
      }
    case 'quarantined':
      return yield {
        id: 'module-quarantined',
        severity: 'error',
        message: `${id} ${version} is in quarantine: ${reason}. Its routes return 503, and the modules that need it fail.`,
        hint: `Upgrade it ("app module-upgrade ${id}"), or let it serve again: app module-enable ${id}`,
      }
    case 'paused':
      return yield {
        id: 'module-paused',
        severity: until === null ? 'warning' : 'info',
        message: `${id} ${version} is paused${until === null ? '' : ` until ${until}`}. Its routes return 503, and its event handlers and jobs wait.`,
        hint: `To end the pause now: app module-enable ${id}`,
      }
    default:
      unknownState(state)
  }
}
