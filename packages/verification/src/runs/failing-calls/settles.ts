/** What `work` resolves to within so many milliseconds; undefined where it takes longer. */
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
