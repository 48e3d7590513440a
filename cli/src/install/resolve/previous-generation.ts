import type { Generation, Generations, LockFile } from '@mortise/host'
import { isSame } from '../../changes/current-generation.ts'
import { generationUnreadable, noPreviousGeneration, noSuchGeneration } from '../../failures/index.ts'
import { asFailure } from '../../terminal/explain.ts'

/** Without a number: the last generation with other modules that served. */
export function previousGeneration(
  { known, unreadable }: Generations,
  lock: LockFile,
  number: number | undefined,
): Generation {
  const failed = known.map(({ takesBack }) => takesBack)
  const found =
    number === undefined
      ? known.findLast((past) => !failed.includes(past.generation) && !isSame(past.lock, lock))
      : known.find((past) => past.generation === number)
  if (found) return found
  const broken = unreadable.find(({ generation }) => generation === number)
  if (broken) {
    throw generationUnreadable({ generation: broken.generation, reason: asFailure(broken.error).message })
  }
  throw number === undefined ? noPreviousGeneration() : noSuchGeneration({ generation: number })
}
