import { MigrationError } from '../port/errors.ts'
import type { SchemaSteps } from './dialect.ts'

/** Runs a text. @throws {MigrationError} where the text is at fault */
export function* run(text: string, message: (reason: string) => string): SchemaSteps<void> {
  try {
    yield text
  } catch (error) {
    const { message: reason } = ((error as Error).cause ?? error) as Error
    throw new MigrationError(message(reason), { cause: error })
  }
}
