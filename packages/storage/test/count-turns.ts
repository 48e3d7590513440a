/** Counts the turns of the event loop while `work` is under way: none where it holds the loop. */
export async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0
  let isOver = false
  const count = () => {
    if (isOver) return
    turns += 1
    setImmediate(count)
  }
  setImmediate(count)
  await work()
  isOver = true
  return turns
}
