import { loadModule, scanSync } from 'libpg-query'

/**
 * A migration for temporary tables: PostgreSQL looks for no function among temporary objects, so the
 * names of those that triggers run, and of dropped ones, say where they are.
 */
export async function withTemporaryFunctions(text: string): Promise<string> {
  await loadModule()
  const bytes = Buffer.from(text)
  const tokens = scanSync(text)
    .tokens.filter(({ tokenName }) => !tokenName.endsWith('COMMENT'))
    .map(({ start, end }) => ({ start, word: bytes.subarray(start, end).toString().toUpperCase() }))
  const wordAt = (at: number) => tokens[at]?.word ?? ''
  let written = ''
  let from = 0
  for (const [at, { word }] of tokens.entries()) {
    const isName = (word === 'EXECUTE' || word === 'DROP') && /^(FUNCTION|PROCEDURE)$/.test(wordAt(at + 1))
    const name = at + (wordAt(at + 2) === 'IF' ? 4 : 2)
    const start = tokens[name]?.start
    if (!isName || start === undefined || wordAt(name + 1) === '.') continue
    written += `${bytes.subarray(from, start)}pg_temp.`
    from = start
  }
  return written + bytes.subarray(from)
}
