import type { Problem } from '@mortise/module-sdk'
import { hostProblems } from './problems.ts'

const headers = { 'retry-after': '1' }

/** 503: the process is overloaded. */
export const busy = (): Problem =>
  hostProblems.create(
    'busy',
    'The server has more requests than it can answer in time. Nothing was done: send the request again.',
    { headers },
  )

/** 429: an address is at its connection limit. */
export const tooManyConnections = (most: number): Problem =>
  hostProblems.create(
    'rate-limited',
    `Your address has ${most} connections, the most that one may have. Nothing was done: use those that are open, or close some, and send the request again.`,
    { headers },
  )

/** 429: an address behind a proxy is at its limit of concurrent requests. */
export const tooManyAtOnce = (most: number): Problem =>
  hostProblems.create(
    'rate-limited',
    `${most} requests of your address are being answered, the most that one may have at once. Nothing was done: send the request again when others are answered.`,
    { headers },
  )
