import { existsSync } from 'node:fs'
import { ConfigError, readSecrets, secretFile, writePendingRecord } from '@mortise/application'
import { withDiskReserve } from '@mortise/application/folder'
import { mintApplicationToken } from '@mortise/host'
import { ownEnvironment } from '@mortise/installer/application'
import { deliverRecords, doneRecord } from '@mortise/installer/changes'
import { capitalised, noSecretToSignWith } from '@mortise/installer/failures'
import { wrongToken } from '../failures/usage.ts'
import type { Command } from '../terminal/command.ts'

export const command: Command = {
  options: [
    ['--scope <scopes>', 'scopes, separated by spaces: "purchase:read purchase:manage"'],
    ['--expires <time>', 'lifetime, a number and s, m, h, d, w or y (default: 1h)'],
  ],
  examples: ['app token alice', 'app token support --scope "purchase:read purchase:manage" --expires 30d'],

  async run({ arguments: [subject], options, terminal, application }) {
    const directory = await application()
    const expiresIn = (options.expires as string | undefined) ?? '1h'
    const scopes = scopesOf(options)
    const minted = await mintRecorded(directory, subject as string, scopes, expiresIn)
    terminal.result({ token: minted, subject, scope: scopes?.join(' ') ?? null, expiresIn }, minted)
  },
}

/** The list in `--scope`, which is written as in a token; a wrong one is refused when it is minted. */
export const scopesOf = ({ scope }: Readonly<Record<string, unknown>>): readonly string[] | undefined =>
  scope === undefined ? undefined : String(scope).split(' ')

/** A token, once the audit trail has a record of it. It can be minted on a full disk, too. */
export const mintRecorded = (
  directory: string,
  subject: string,
  scopes: readonly string[] | undefined,
  expiresIn: string,
): Promise<string> =>
  withDiskReserve(directory, () => mintOnce(directory, subject, scopes, expiresIn, process.env))

async function mintOnce(
  directory: string,
  subject: string,
  scopes: readonly string[] | undefined,
  expiresIn: string,
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const { secret } = await readSecrets(directory, environment)
  const minted = await mint({ directory, subject, scopes, expiresIn, environment })
  const about = { scope: scopes?.join(' ') ?? null, expiresIn }
  await writePendingRecord(directory, doneRecord('token', subject, about))
  // A rotation that read the records before this one may end the token too early.
  if (await isPrevious(directory, secret)) {
    return await mintOnce(directory, subject, scopes, expiresIn, ownEnvironment())
  }
  await deliverRecords(directory)
  return minted
}

async function isPrevious(directory: string, secret: Uint8Array | undefined): Promise<boolean> {
  if (secret === undefined || ownEnvironment().APP_SECRET !== undefined) return false
  const { previousSecrets } = await readSecrets(directory, {})
  return previousSecrets.some((previous) => Buffer.from(previous.secret).equals(secret))
}

async function mint(request: Parameters<typeof mintApplicationToken>[0]): Promise<string> {
  try {
    return await mintApplicationToken(request)
  } catch (error) {
    const { directory } = request
    if (error instanceof ConfigError && !existsSync(secretFile(directory)) && !process.env.APP_SECRET) {
      throw noSecretToSignWith({ file: secretFile(directory), directory, cause: error })
    }
    if (!(error instanceof TypeError)) throw error
    throw wrongToken({ problem: capitalised(error.message), cause: error })
  }
}
