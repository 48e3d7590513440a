export const subjectRule = '1 to 255 characters, no control characters, well-formed Unicode'

/** Whether `sub` may name a user. Characters are code points, as everywhere in the API. */
export function isSubject(sub: unknown): sub is string {
  if (typeof sub !== 'string' || sub === '' || sub.length > 510) return false
  return sub.isWellFormed() && !/\p{Cc}/u.test(sub) && [...sub].length <= 255
}
