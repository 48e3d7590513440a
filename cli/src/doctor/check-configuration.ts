import {
  type Config,
  ConfigError,
  moduleSettings,
  readConfig,
  readLockFile,
  readPackage,
  storedModule,
} from '@mortise/host'
import { loadOwnEnvFile } from '../application/environment.ts'
import { Failure } from '../failures/index.ts'
import type { FixableFinding } from './finding.ts'

/** Checks app.config.json and the environment, including the settings of modules. */
export async function checkConfiguration(directory: string): Promise<FixableFinding[]> {
  let config: Config
  try {
    config = await readConfig(directory)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [
      {
        id: 'config-invalid',
        severity: 'error',
        message: `${error.message}. The host does not start with it.`,
        hint: 'Correct it there, or with "app config set" and "app config unset".',
      },
    ]
  }
  return [
    ...(await environmentTrouble(directory)),
    ...unknownVariables(config),
    ...(await settingsTrouble(directory, config)),
    ...(await unused(config)),
  ]
}

async function environmentTrouble(directory: string): Promise<FixableFinding[]> {
  try {
    await loadOwnEnvFile(directory)
    return []
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { message, hint } = error
    return [{ id: 'env-file-unreadable', severity: 'error', message, hint }]
  }
}

const unknownVariables = ({ unknownVariables: names }: Config): FixableFinding[] =>
  names.map((name) => ({
    id: 'unknown-variable',
    severity: 'warning',
    message: `${name} is set and is no setting: it has no effect, and may be meant for one.`,
    hint: 'Mend its spelling or unset it: "app config get --json" names the variable of every setting.',
  }))

async function settingsTrouble(directory: string, config: Config): Promise<FixableFinding[]> {
  const troubles: FixableFinding[] = []
  for (const [id, locked] of Object.entries((await readLockFile(directory)).modules)) {
    const stored = await readPackage(storedModule(directory, locked)).catch(() => undefined)
    if (stored === undefined) continue // the check of the store reports it
    try {
      moduleSettings(config, id, stored.settingsSchema)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      troubles.push({
        id: 'settings-invalid',
        severity: locked.enabled ? 'error' : 'warning',
        message: `The settings of ${id} are wrong: ${error.message}. It cannot be started with them.`,
        hint: `Correct them with "app config set ${id}.…" or "app config unset ${id}.…".`,
      })
    }
  }
  return troubles
}

async function unused({ modules, directory }: Config): Promise<FixableFinding[]> {
  const installed = (await readLockFile(directory)).modules
  return Object.keys(modules).flatMap((id): FixableFinding[] =>
    Object.hasOwn(installed, id)
      ? []
      : [
          {
            id: 'settings-unused',
            severity: 'info',
            message: `app.config.json has settings of ${id}, which is not installed. They wait until it is.`,
            hint: 'Leave them, or remove them from the file.',
          },
        ],
  )
}
