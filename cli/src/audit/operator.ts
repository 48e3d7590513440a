import { userInfo } from 'node:os'

/** Who runs the command, as the audit trail names them. */
export function operator(): string {
  return `os:${nameOf()}`
}

function nameOf(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run as a user that it has no name for.
    return String(process.getuid?.())
  }
}
