import type { IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import {
  DatabaseLockedError,
  StillNeededError,
  StorageUnfitError,
  StorageUnreachableError,
} from '@mortise/storage'
import { http } from '../http/node-http.ts'
import { HostEndedError, HostRefusedError, HostSilentError } from './host-errors.ts'
import { hostProcess } from './host-process.ts'
import type { Operation } from './operation.ts'
import { type OperationName, operations } from './operations.ts'
import { PHASE_HEADER, type Phase } from './phase.ts'
import { forgetPhase, ResponseDeadline } from './response-deadline.ts'

export interface Patience {
  /** Time limit for the first sign of life, in milliseconds. */
  readonly firstSign?: number | undefined
  /** Whether to wait for a host that starts, and for the end of one that stops: for a minute. */
  readonly waits?: boolean
}

/**
 * - `nobody`: no process listens there.
 * - `held`: the host starts or stops.
 * - `silent`: no sign of life, and nothing is begun or changed.
 * - `again`: the host ends, and has done nothing.
 */
export type HostReply =
  | 'nobody'
  | 'held'
  | { readonly body: unknown }
  | { readonly silent: HostSilentError }
  | { readonly again: Error }

/**
 * Asks the process that listens on a control socket. A host ignores a request that was given up
 * before the host read it.
 * @throws as `callRunningHost` does
 */
export async function askHost(
  socketPath: string,
  name: OperationName,
  input: unknown,
  patience: Patience = {},
): Promise<HostReply> {
  const { sent, received, hasBegun } = begin(socketPath, name, input, patience)
  try {
    const response = await received
    if (response === 'nobody') forgetPhase(socketPath)
    if (typeof response === 'string') return response
    const body = await json(response).catch((error) => Promise.reject(gone(error)))
    if (response.statusCode === 200) return { body }
    const { stopping, ...refused } = body as Refusal
    if (stopping) return { again: gone(new Error(refused.reason)) }
    throw refusal(response.statusCode ?? 0, refused)
  } catch (error) {
    const operation: Operation = operations[name]
    if (error instanceof HostSilentError && (operation.reads || !hasBegun())) return { silent: error }
    if (error instanceof HostEndedError && !(error instanceof HostSilentError) && !hasBegun())
      return { again: error }
    throw error
  } finally {
    sent.destroy()
  }
}

function refusal(
  status: number,
  { reason = `it returned ${status}`, module, stillNeeded, unreachable, locked, unfit }: Refusal,
): Error {
  if (unreachable) return new StorageUnreachableError(reason)
  if (unfit) return new StorageUnfitError(reason)
  if (locked) return new DatabaseLockedError(reason)
  if (stillNeeded) return new StillNeededError(reason)
  return new HostRefusedError(status, module === undefined ? reason : `${module}: ${reason}`)
}

interface Refusal {
  readonly reason?: string
  readonly module?: string
  readonly stillNeeded?: boolean
  readonly unreachable?: boolean
  readonly locked?: boolean
  readonly unfit?: boolean
  /** The host stops, and has not done it. */
  readonly stopping?: boolean
}

/**
 * Sends the body after the host has read the head (`100 Continue`); hears its signs of life. `held`:
 * the host starts or stops, and the caller does not wait for that.
 */
export function begin(
  socketPath: string,
  name: OperationName,
  input: unknown,
  { firstSign, waits = true }: Patience = {},
) {
  const operation: Operation = operations[name]
  const text = operation.reads ? '' : JSON.stringify(input)
  const type = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
  const headers = { expect: '100-continue', ...(!operation.reads && type) }
  const method = operation.reads ? 'GET' : 'POST'
  const sent = http.request({ socketPath, method, path: `/${name}`, headers, agent: false })
  const silence = new ResponseDeadline(socketPath, operation, (error) => sent.destroy(error), firstSign)
  const received = new Promise<IncomingMessage | 'nobody' | 'held'>((resolve, reject) => {
    sent.once('response', resolve)
    sent.on('information', ({ headers }) => {
      const phase = headers[PHASE_HEADER] as Phase | undefined
      if (phase !== undefined && !waits) resolve('held')
      else silence.extend(phase)
    })
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (isNobody(error)) resolve('nobody')
      else reject(notReached(error, socketPath))
    })
  })
  let begun = false
  sent.once('continue', () => {
    begun = true
    forgetPhase(socketPath)
    sent.end(text)
  })
  sent.once('close', () => silence.end())
  sent.flushHeaders()
  return { sent, received, silence, hasBegun: () => begun }
}

const isNobody = ({ code = '' }: NodeJS.ErrnoException) =>
  ['ENOENT', 'ENOTDIR', 'ECONNREFUSED'].includes(code)

function notReached(error: NodeJS.ErrnoException, socketPath: string): Error {
  if (error instanceof HostEndedError) return error
  // The socket's queue of waiting connections is full.
  if (error.code === 'EAGAIN') return new HostSilentError(hostProcess(socketPath))
  const isDenied = error.code === 'EACCES' || error.code === 'EPERM'
  return isDenied ? Object.assign(error, { path: socketPath }) : gone(error)
}

const gone = (error: Error) =>
  new HostEndedError(`the running host ended before it responded (${error.message})`, { cause: error })
