import {
  type ApplicationState,
  callRunningHost,
  probe,
  readConfig,
  readLockFile,
  storedModule,
} from '@mortise/host'
import { ownEnvironment } from '../application/environment.ts'
import { isCurrent } from '../changes/current-generation.ts'
import { pendingSettings } from '../settings/pending-settings.ts'
import { hostPackageOf } from '../store/host-package.ts'
import type { FixableFinding } from './finding.ts'
import { retainedCode } from './retained-code.ts'

/** Compares what the running host serves with what it should serve. */
export async function checkRunningHost(directory: string): Promise<FixableFinding[]> {
  const state = await callRunningHost(directory, 'state')
  if (state === undefined) return []
  const lock = await readLockFile(directory)
  const { generation } = lock
  const database = await databaseTrouble(directory, state)
  const behind =
    state.generation === generation || !(await isCurrent(directory))
      ? []
      : [behindTrouble(directory, state.generation, generation)]
  return [
    ...restartTrouble(state, hostPackageOf(lock, directory).version),
    ...database,
    ...(await settingsTrouble(directory, state, database.length > 0)),
    ...behind,
    ...failedTrouble(state),
    ...silentTrouble(state),
    ...retainedCode(state),
  ]
}

const silentTrouble = ({ silentWorkers = [] }: ApplicationState): FixableFinding[] =>
  silentWorkers.map((pid) => ({
    id: 'worker-silent',
    severity: 'warning',
    message: `Worker process ${pid} does not respond. The others serve.`,
    hint: `Its parent replaces it 10 s after it was stopped, or after its event loop was blocked for 40 s. To replace it now: kill -9 ${pid}`,
  }))

const restartTrouble = ({ pid, host }: ApplicationState, next: string): FixableFinding[] =>
  host === next
    ? []
    : [
        {
          id: 'restart-pending',
          severity: 'warning',
          message: `Process ${pid} runs host ${host}, and the next start runs ${next}.`,
          hint: 'Restart it.',
        },
      ]

/** Another check reports a wrong configuration. */
async function databaseTrouble(
  directory: string,
  { pid, engine }: ApplicationState,
): Promise<FixableFinding[]> {
  const next = await readConfig(directory, ownEnvironment()).catch(() => undefined)
  if (next === undefined || engine === (next.databaseFile === undefined ? 'postgres' : 'sqlite')) return []
  return [
    {
      id: 'database-changed',
      severity: 'error',
      message: `Process ${pid} still uses the previous database, and app.config.json names another. After "app migrate-data" it refuses writes.`,
      hint: 'Restart it.',
    },
  ]
}

/** @param knowsDatabase whether another finding already states that the database differs */
async function settingsTrouble(
  directory: string,
  { pid }: ApplicationState,
  knowsDatabase: boolean,
): Promise<FixableFinding[]> {
  const pending = (await pendingSettings(directory)).filter(
    ({ key, option }) => option === undefined && (key !== 'database' || !knowsDatabase),
  )
  if (pending.length === 0) return []
  const text = (value: unknown) => (value === null ? 'no value' : JSON.stringify(value))
  const each = pending.map(({ key, inForce, next }) => `${key} (${text(inForce)}, next ${text(next)})`)
  return [
    {
      id: 'settings-pending',
      severity: 'warning',
      message: `Process ${pid} still uses the settings of its start: ${each.join(', ')}.`,
      hint: 'Restart it.',
    },
  ]
}

function behindTrouble(directory: string, served: number, locked: number): FixableFinding {
  return {
    id: 'generation-behind',
    severity: 'error',
    message: `The running host serves generation ${served}, and modules.lock.json has ${locked}. After a restart it would serve other modules.`,
    hint: 'Look in its log for the reason, correct it, then run "app doctor --fix".',
    async fix() {
      const config = await readConfig(directory)
      const enabled = Object.entries((await readLockFile(directory)).modules).filter(
        ([, module]) => module.enabled,
      )
      await probe(
        config,
        enabled.map(([id, module]) => ({ id, directory: storedModule(directory, module) })),
      )
      const activated = await callRunningHost(directory, 'activate')
      if (activated === undefined) throw new Error('the host has stopped.')
      return `It serves generation ${activated.generation} now.`
    },
  }
}

const failedTrouble = ({ modules }: ApplicationState): FixableFinding[] =>
  modules.flatMap(({ id, version, state, reason }) =>
    state === 'failed'
      ? [
          {
            id: 'module-failed',
            severity: 'error',
            message: `${id} ${version} has failed: ${reason}. Its routes return 503.`,
            hint: `Correct the cause and restart the host, go back ("app module-rollback"), or disable the module ("app module-disable ${id}").`,
          },
        ]
      : [],
  )
