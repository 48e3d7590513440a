import type { Problem } from '@mortise/module-sdk'
import { hostProblems } from './problems.ts'

const headers = { 'retry-after': '1' }

/** 503: the process is overloaded. */
export const busy = (): Problem =>
  hostProblems.create(
    'busy',
    'The server has more requests than it can serve in time; nothing was done. Send the request again.',
    { headers },
  )

/** 503: the routes of a module have as many requests as they may. */
export const moduleBusy = (module: string): Problem =>
  hostProblems.create(
    'busy',
    `${module} has more requests than it can serve in time; nothing was done. Send the request again.`,
    { headers },
  )

/** 429: an address is at its connection limit. */
export const tooManyConnections = (most: number): Problem =>
  hostProblems.create(
    'rate-limited',
    `Your address has ${most} connections, the maximum; nothing was done. Use or close open connections, and send the request again.`,
    { headers },
  )

/** 429: an address behind a proxy is at its limit of concurrent requests. */
export const tooManyAtOnce = (most: number): Problem =>
  hostProblems.create(
    'rate-limited',
    `Your address has ${most} concurrent requests, the maximum; nothing was done. Send the request again after the others have finished.`,
    { headers },
  )
