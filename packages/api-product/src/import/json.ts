/**
 * The value of a JSON text.
 * @throws {SyntaxError} also for a lone surrogate, which no database stores
 */
export const parseJson = (text: string): unknown =>
  // Only an escape can be one.
  text.includes('\\u') ? JSON.parse(text, refuseSurrogates) : JSON.parse(text)

function refuseSurrogates(key: string, value: unknown): unknown {
  if (key.isWellFormed() && (typeof value !== 'string' || value.isWellFormed())) return value
  throw new SyntaxError('it has a lone surrogate')
}
