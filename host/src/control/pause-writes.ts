import { json } from 'node:stream/consumers'
import { ConfigError } from '@mortise/application'
import { begin } from './ask-host.ts'
import { controlSocket } from './control-socket.ts'

/** The running host's write pause. It lasts until its release or the end of its connection. */
export interface PausedWrites {
  release(): void
}

/**
 * Pauses writes in the running host; undefined without a host. Call `keep` every few seconds.
 * @param file the SQLite file that the caller takes for its database
 * @throws {Error} with the reason of a refusal
 */
export async function pauseWrites(directory: string, file: string): Promise<PausedWrites | undefined> {
  const { sent, received, silence } = begin(controlSocket(directory), 'hold', { file })
  const response = await received
  if (typeof response === 'string') return undefined
  if (response.statusCode === 200) {
    silence.end()
    // The next call notices the end of the connection.
    response.resume().on('error', () => {})
    return { release: () => void sent.destroy() }
  }
  const { reason } = (await json(response)) as { reason?: string }
  throw new ConfigError(reason ?? `the running host responded with ${response.statusCode}`)
}
