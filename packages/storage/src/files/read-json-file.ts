import { JsonError, readJson } from '@mortise/module-sdk/json'
import { readOptionalText } from './read-text.ts'

/** A file of the application with invalid content. */
export class UnreadableFileError extends Error {
  override readonly name = 'UnreadableFileError'
  readonly file: string

  constructor(file: string, reason: string) {
    super(`${file} ${reason}`)
    this.file = file
  }
}

/**
 * Reads a JSON file of the application.
 * @returns undefined without a file
 * @throws {UnreadableFileError} for invalid JSON, or content that `isRight` rejects
 * @throws {NodeJS.ErrnoException} with its `path`, if it cannot be read
 */
export async function readJsonFile<Content>(
  file: string,
  isRight: (value: unknown) => value is Content,
): Promise<Content | undefined> {
  const text = await readOptionalText(file)
  if (text === undefined) return undefined
  const value = parseJson(text, (reason) => new UnreadableFileError(file, reason))
  if (isRight(value)) return value
  throw new UnreadableFileError(file, 'does not have the expected content')
}

/**
 * Reads JSON as `readJson` does. `failed` makes the error for a reason: `is empty`, `is not JSON: it is
 * cut off`, `is refused: /server/port must be given once`.
 */
export function parseJson(content: string, failed: (reason: string) => Error): unknown {
  // Some editors begin a file with a byte order mark.
  const text = content.replace(/^\ufeff/, '')
  if (text.trim() === '') throw failed('is empty')
  try {
    JSON.parse(text)
  } catch (error) {
    throw failed(`is not JSON: ${reasonOf((error as Error).message.replaceAll(/\s+/g, ' '))}`)
  }
  try {
    return readJson(text)
  } catch (error) {
    if (error instanceof JsonError) throw failed(`is refused: ${error.message}`)
    throw error
  }
}

/** Our own words: V8's messages are technical, and without the place in a short text. */
function reasonOf(message: string): string {
  const [, token, where] = /^Unexpected token (.+?), (.*) is not valid JSON$/.exec(message) ?? []
  if (token !== undefined) return `${token} is wrong in ${where}`
  return /end of JSON/.test(message) ? 'it is cut off' : message
}
