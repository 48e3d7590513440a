/** As long as a head may be. */
const MOST = 8 * 1024
/** RFC 9112, 3, with any method. */
const grammar = /^([!#$%&'*+.^_`|~\w-]+) ([\x21-\x7e]+) HTTP\/(\d\.\d)\r?\n/

export interface RequestLine {
  readonly method: string
  readonly url: string
  /** `1.1`. */
  readonly version: string
}

/**
 * The request line in `bytes`, possibly one of several, at which a parser stopped at `end`;
 * undefined without one.
 */
export function requestLine(bytes: Buffer, end: number): RequestLine | undefined {
  const start = bytes.subarray(0, end).lastIndexOf('\n') + 1
  const [, method, url, version] = grammar.exec(bytes.toString('latin1', start, start + MOST)) ?? []
  return method && url && version ? { method, url, version } : undefined
}
