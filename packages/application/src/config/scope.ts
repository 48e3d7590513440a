/** A scope (RFC 6749, 3.3): visible ASCII without quotes and backslashes, so never two in one text. */
export const isScope = (text: string): boolean => /^[!#-[\]-~]+$/.test(text)

/** @throws {TypeError} that names the first value that is no scope */
export function assertScopes(scopes: readonly string[]): void {
  const wrong = scopes.find((scope) => !isScope(scope))
  if (wrong !== undefined)
    throw new TypeError(
      `${JSON.stringify(wrong)} is not a scope: a scope such as purchase:read has no blanks, quotes or backslashes`,
    )
}
