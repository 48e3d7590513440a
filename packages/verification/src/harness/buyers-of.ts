import { readFile } from 'node:fs/promises'
import { configFile, secretFile } from '@mortise/host'
import { Buyers } from './buyers.ts'
import { mintUsers } from './mint-users.ts'

/** Users of the application in a folder, who make purchases. */
export async function buyersOf(directory: string, users: number): Promise<Buyers> {
  const { auth } = JSON.parse(await readFile(configFile(directory), 'utf8'))
  const secret = (await readFile(secretFile(directory), 'utf8')).trim()
  return new Buyers(await mintUsers({ issuer: auth.issuer, secret }, users))
}
