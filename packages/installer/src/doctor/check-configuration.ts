import {
  type Config,
  ConfigError,
  decisionOf,
  isLoaded,
  readConfig,
  readLockFile,
  readPackage,
  settingFaults,
  storedModule,
} from '@mortise/application'
import { loadOwnEnvFile } from '../application/environment.ts'
import { Failure } from '../failures/index.ts'
import type { AsyncFindings, FixableFinding } from './finding.ts'

export async function* checkConfiguration(directory: string): AsyncFindings {
  let config: Config
  try {
    config = await readConfig(directory)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return yield {
      id: 'config-invalid',
      severity: 'error',
      message: `${error.message}. The host does not start with it.`,
      hint: 'Correct it there, or with "app config set" and "app config unset".',
    }
  }
  yield* environmentTrouble(directory)
  yield* unknownVariables(config)
  yield* settingsTrouble(directory, config)
  yield* unused(config)
}

async function* environmentTrouble(directory: string): AsyncFindings {
  try {
    await loadOwnEnvFile(directory)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { message, hint } = error
    yield { id: 'env-file-unreadable', severity: 'error', message, hint }
  }
}

const unknownVariables = ({ unknownVariables: names }: Config): FixableFinding[] =>
  names.map((name) => ({
    id: 'unknown-variable',
    severity: 'warning',
    message: `${name} is set but is not a setting. It has no effect.`,
    hint: 'Correct its spelling or unset it: "app config get --json" shows the variable of every setting.',
  }))

async function* settingsTrouble(directory: string, config: Config): AsyncFindings {
  for (const [id, locked] of Object.entries((await readLockFile(directory)).modules)) {
    const stored = await readPackage(storedModule(directory, locked)).catch(() => undefined)
    if (stored === undefined) continue // the check of the store reports it
    const faults = await settingFaults(config, id, stored.settingsSchema)
    if (faults.length === 0) continue
    yield {
      id: 'settings-invalid',
      severity: isLoaded(decisionOf(locked)) ? 'error' : 'warning',
      message: `The settings of ${id} are invalid: ${faults.join('; ')}. The module cannot start with them.`,
      hint: `Correct them with "app config set ${id}.…" or "app config unset ${id}.…".`,
    }
  }
}

async function* unused({ modules, directory }: Config): AsyncFindings {
  const installed = (await readLockFile(directory)).modules
  for (const id of Object.keys(modules)) {
    if (Object.hasOwn(installed, id)) continue
    yield {
      id: 'settings-unused',
      severity: 'info',
      message: `app.config.json has settings of ${id}, which is not installed. They have no effect until you install it.`,
      hint: 'Keep them, or remove them from the file.',
    }
  }
}
