import { mintToken } from '@mortise/host'
import type { PreparedApplication } from './prepare-application.ts'

/** JWTs, one per user, valid for a day. */
export function mintUsers(application: PreparedApplication, count: number): Promise<string[]> {
  const secret = Buffer.from(application.secret)
  const subjects = Array.from({ length: count }, (_, index) => `user-${index}`)
  return Promise.all(
    subjects.map((subject) => mintToken({ issuer: application.issuer, secret, subject, expiresIn: '1d' })),
  )
}
