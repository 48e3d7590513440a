import { ConfigError } from './settings.ts'

/** A newer host has changed the application in ways that this one does not know. */
export class NewerHostError extends ConfigError {
  override readonly name = 'NewerHostError'
}
