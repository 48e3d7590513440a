/**
 * Brings a request target into a form that the router always takes, so that a malformed path parameter
 * reaches the route, whose own 404 then answers it:
 * - a segment whose escapes cannot be decoded (`%ZZ`, `%FF`), or decode to NUL, has its percent signs escaped;
 * - of the absolute form (`http://host/path`) the path remains; anything else, such as `*`, becomes a path
 *   that no route has.
 */
export function requestTarget(target: string): string {
  const path = target.charCodeAt(0) === SLASH ? target : toOriginForm(target)
  return path.includes('%') ? escapeUndecodable(path) : path
}

const SLASH = 47

function toOriginForm(target: string): string {
  const absolute = /^https?:\/\/[^/?#]*(.*)$/is.exec(target)
  if (!absolute) return `/${encodeURIComponent(target.toWellFormed())}`
  const rest = absolute[1] as string
  return rest.startsWith('/') ? rest : `/${rest}`
}

function escapeUndecodable(target: string): string {
  const end = target.search(/[?#]/)
  const path = end === -1 ? target : target.slice(0, end)
  const segments = path.split('/').map((segment) => {
    return isDecodable(segment) ? segment : segment.replaceAll('%', '%25')
  })
  return segments.join('/') + target.slice(path.length)
}

function isDecodable(segment: string): boolean {
  if (!segment.includes('%')) return true
  try {
    return !decodeURIComponent(segment).includes('\0')
  } catch {
    return false
  }
}
