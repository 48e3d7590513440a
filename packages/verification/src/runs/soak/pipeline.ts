import { once } from 'node:events'
import { connect } from 'node:net'

/**
 * Sends several requests on a connection of its own before it reads a response.
 * @returns the bodies, in the order of the responses; none may be incomplete, or another status than 200
 */
export async function pipeline(url: string, paths: readonly string[]): Promise<string[]> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', noDelay: true })
  const closed = once(socket, 'close').then(() => 'closed' as const)
  let received = ''
  socket.setEncoding('utf8').on('data', (text) => {
    received += text
  })
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: soak\r\n\r\n`).join(''))
  try {
    for (;;) {
      const bodies = bodiesIn(received)
      if (bodies.length === paths.length) return bodies
      const more = await Promise.race([once(socket, 'data'), closed])
      if (more === 'closed')
        throw new Error(`after ${bodies.length} responses the host closed the connection`)
    }
  } finally {
    socket.destroy()
  }
}

/** The bodies of the complete responses at the beginning. */
function bodiesIn(text: string): string[] {
  const bodies: string[] = []
  for (let rest = text; rest !== ''; ) {
    const [head, length] = /^HTTP\/1\.1 200 .*?\r\ncontent-length: (\d+)\r\n.*?\r\n\r\n/is.exec(rest) ?? []
    if (head === undefined && rest.includes('\r\n\r\n'))
      throw new Error(`not a response: ${rest.slice(0, 300)}`)
    if (head === undefined || rest.length < head.length + Number(length)) break
    bodies.push(rest.slice(head.length, head.length + Number(length)))
    rest = rest.slice(head.length + Number(length))
  }
  return bodies
}
