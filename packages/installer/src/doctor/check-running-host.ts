import { databaseAddress, foldersToLoad, readConfig, readLockFile } from '@mortise/application'
import { type ApplicationState, callRunningHost, probe } from '@mortise/host'
import { engineOf } from '@mortise/storage'
import { ownEnvironment } from '../application/environment.ts'
import { describeHost, differingHosts } from '../application/other-hosts.ts'
import { isCurrent } from '../changes/current-generation.ts'
import { pendingSettings } from '../settings/setting-state.ts'
import { hostPackageOf } from '../store/host-package.ts'
import { retainedPackages } from '../store/installed-state.ts'
import type { AsyncFindings, Findings, FixableFinding } from './finding.ts'

/** From this number of packages on, report them. */
const MANY = 20
/** The memory of a replaced package, in MB, as measured (api-cart 0.08, api-purchase 0.11). */
const MEGABYTES = 0.1

/** Compares what the running host serves with what it should serve. */
export async function* checkRunningHost(directory: string): AsyncFindings {
  const state = await callRunningHost(directory, 'state')
  if (state === undefined) return
  const lock = await readLockFile(directory)
  const { generation } = lock
  yield* restartTrouble(state, hostPackageOf(lock, directory).version)
  const database = await databaseTrouble(directory, state)
  if (database) yield database
  yield* settingsTrouble(directory, state, database !== undefined)
  if (state.generation !== generation && (await isCurrent(directory)))
    yield behindTrouble(directory, state.generation, generation)
  yield* connectionTrouble(state)
  yield* silentTrouble(state)
  yield* retainedCode(state)
}

const connectionTrouble = ({ refusedConnections }: ApplicationState): FixableFinding[] =>
  refusedConnections === undefined
    ? []
    : [
        {
          id: 'connections-refused',
          severity: 'error',
          message: `The running host serves on its open connections, and gets no new ones: ${refusedConnections}.`,
          hint: 'After a change of the password, write the new one into "envFile" or app.config.json: the host takes it up within seconds. If it is in APP_DATABASE or PGPASSWORD of its environment, restart the host.',
        },
      ]

const silentTrouble = ({ silentWorkers = [] }: ApplicationState): FixableFinding[] =>
  silentWorkers.map((pid) => ({
    id: 'worker-silent',
    severity: 'warning',
    message: `Worker process ${pid} does not respond. The others serve.`,
    hint: `Its supervisor replaces it 10 s after it was stopped, or after its event loop was blocked for 40 s. To replace it now: kill -9 ${pid}`,
  }))

function* restartTrouble({ pid, host }: ApplicationState, next: string): Findings {
  if (host === next) return
  yield {
    id: 'restart-pending',
    severity: 'warning',
    message: `Process ${pid} runs host ${host}, and the next start runs ${next}.`,
    hint: 'Restart it.',
  }
}

/** Another check reports a wrong configuration. */
async function databaseTrouble(
  directory: string,
  { pid, engine }: ApplicationState,
): Promise<FixableFinding | undefined> {
  const next = await readConfig(directory, ownEnvironment()).catch(() => undefined)
  if (next === undefined || engine === engineOf(databaseAddress(next))) return undefined
  return {
    id: 'database-changed',
    severity: 'error',
    message: `Process ${pid} still uses the previous database, and app.config.json names another. After "app migrate-data" it refuses writes.`,
    hint: 'Restart it.',
  }
}

/** @param knowsDatabase whether another finding already states that the database differs */
async function* settingsTrouble(
  directory: string,
  { pid }: ApplicationState,
  knowsDatabase: boolean,
): AsyncFindings {
  const pending = (await pendingSettings(directory)).filter(
    ({ key, option }) => option === undefined && (key !== 'database' || !knowsDatabase),
  )
  if (pending.length === 0) return
  const text = (value: unknown) => (value === null ? 'no value' : JSON.stringify(value))
  const each = pending.map(({ key, effective, next }) => `${key} (${text(effective)}, next ${text(next)})`)
  yield {
    id: 'settings-pending',
    severity: 'warning',
    message: `Process ${pid} still uses the settings of its start: ${each.join(', ')}.`,
    hint: 'Restart it.',
  }
}

function behindTrouble(directory: string, served: number, locked: number): FixableFinding {
  return {
    id: 'generation-behind',
    severity: 'error',
    message: `The running host serves generation ${served}, and modules.lock.json has ${locked}. After a restart it would serve other modules.`,
    hint: 'Look in its log for the reason, correct it, then run "app doctor --fix".',
    async fix() {
      await probe(await readConfig(directory), foldersToLoad(directory, await readLockFile(directory)))
      const activated = await callRunningHost(directory, 'activate')
      if (activated === undefined) throw new Error('the host has stopped.')
      return `It serves generation ${activated.generation} now.`
    },
  }
}

export function retainedCode(state: ApplicationState): FixableFinding[] {
  const packages = retainedPackages(state)
  if (packages < MANY) return []
  return [
    {
      id: 'code-retained',
      severity: 'info',
      message: `The running host keeps the code of ${packages} replaced packages in memory, about ${Math.round(packages * MEGABYTES)} MB, more with large dependencies.`,
      hint: 'Only a restart frees that memory.',
      packages,
    },
  ]
}

/** Whether all hosts of the database serve the same modules. */
export async function* checkOtherHosts(directory: string): AsyncFindings {
  const hosts = await differingHosts(directory)
  if (hosts.length === 0) return
  yield {
    id: 'hosts-differ',
    severity: 'warning',
    message: `Hosts on this database serve different modules, so responses depend on the host. ${hosts.map(describeHost).join('; ')}.`,
    hint: 'Finish the roll-out: run the same command there, or start the same image.',
  }
}
