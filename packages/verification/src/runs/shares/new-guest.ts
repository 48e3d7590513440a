import type { CrowdConnection } from '../overload/crowd-connection.ts'

/** @returns the token of a new guest */
export async function newGuest(connection: CrowdConnection): Promise<string> {
  const { status, body } = await connection.ask(
    'POST /guest HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n',
  )
  if (status !== 201) throw new Error(`a guest was refused: ${status} ${body}`)
  return JSON.parse(body).token
}
