import { ConfigError } from './settings.ts'

/** The application was taken on by a newer host than this one, which cannot know what that has written. */
export class NewerHostError extends ConfigError {
  override readonly name = 'NewerHostError'
}
