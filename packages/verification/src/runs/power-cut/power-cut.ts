import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { configFile, secretFile } from '@mortise/host'
import { Host, runApp } from '../../harness/app-command.ts'
import { Buyers } from '../../harness/buyers.ts'
import { FileSystem } from '../../harness/file-system.ts'
import { mintUsers } from '../../harness/mint-users.ts'
import { Random } from '../../harness/random.ts'
import { outcome, repeat, skipped } from '../../harness/repeat.ts'
import type { Outcome, Verification } from '../../harness/verification.ts'

const USERS = 8
/** Power cuts in one round. */
const CUTS = 2
const IMAGE_BYTES = 256 * 1024 * 1024

export const powerCut: Verification = {
  promise:
    'A file system that is shut down during writes and commands loses no acknowledged purchase and no file that the application needs.',
  run: (options) =>
    repeat(options, async (seed, folder) => {
      const disk = await FileSystem.make(folder, IMAGE_BYTES)
      if (disk === undefined) return skipped('this user cannot mount a file system (root, mkfs.ext4, perl)')
      try {
        return await round(disk, new Random(seed))
      } finally {
        await disk.unmount()
      }
    }),
}

/** A new application with power cuts after its first purchases and during a command. */
async function round(disk: FileSystem, random: Random): Promise<Outcome> {
  const directory = join(disk.directory, 'application')
  await mkdir(directory)
  for (const argv of [['init'], ['module-install', 'api-purchase']]) {
    const { exitCode, said } = await runApp(directory, argv)
    if (exitCode !== 0) throw new Error(`app ${argv.join(' ')} ended with ${exitCode}: ${said}`)
  }
  const { auth } = JSON.parse(await readFile(configFile(directory), 'utf8'))
  const secret = (await readFile(secretFile(directory), 'utf8')).trim()
  const buyers = new Buyers(await mintUsers({ issuer: auth.issuer, secret }, USERS))
  const failures: string[] = []
  let host = await Host.start(directory)
  try {
    for (let cut = 0; cut < CUTS && failures.length === 0; cut += 1) {
      buyers.start(`http://127.0.0.1:${host.port}`)
      const command = cut === 0 ? undefined : runApp(directory, ['module-disable', 'api-purchase'])
      await pause(random.between(30, command === undefined ? 600 : 1500))
      // A running fsync succeeds without effect here. After a real power loss no response leaves.
      buyers.ignoreResponses()
      await disk.shutDown()
      await host.kill()
      await Promise.all([buyers.stop(), command])
      await disk.unmount()
      await disk.mount()
      host = await Host.start(directory)
      const enabled = await runApp(directory, ['module-enable', 'api-purchase'])
      if (enabled.exitCode !== 0)
        failures.push(`app module-enable ended with ${enabled.exitCode}: ${enabled.said}`)
      failures.push(...(await buyers.check(`http://127.0.0.1:${host.port}`)))
    }
  } finally {
    await host.kill()
    buyers.close()
  }
  const figures = { 'power cuts': CUTS, 'purchases acknowledged': buyers.acknowledged }
  return outcome(figures, failures, ['purchases acknowledged'])
}
