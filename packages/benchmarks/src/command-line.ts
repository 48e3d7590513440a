/** Wrong usage of a command. */
export class UsageError extends Error {}

/**
 * The values of these options as whole numbers from 1 on.
 * @throws {UsageError} that names the wrong one
 */
export function countsOf<const Name extends string>(
  values: Readonly<Record<Name, string>>,
  names: readonly Name[],
): Record<Name, number> {
  const counts = names.map((name) => {
    const number = Number(values[name])
    if (Number.isInteger(number) && number >= 1) return [name, number]
    throw new UsageError(`--${name} ${values[name]}: write a number from 1`)
  })
  return Object.fromEntries(counts)
}

/** Ends a failed command: with 2 and the usage for wrong usage, otherwise with 1. */
export function fail(error: unknown, usage: string): void {
  const { stack, message, code } = error as NodeJS.ErrnoException
  const isUsage = error instanceof UsageError || code?.startsWith('ERR_PARSE_ARGS') === true
  process.stderr.write(isUsage ? `${message}\n\n${usage}` : `${stack}\n`)
  process.exitCode = isUsage ? 2 : 1
}
