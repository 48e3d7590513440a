/** The result of `work` within this time, in milliseconds; undefined if it takes longer. */
export async function settles<Result>(
  work: Promise<Result>,
  milliseconds: number,
): Promise<Result | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), milliseconds)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
