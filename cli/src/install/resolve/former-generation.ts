import type { Generation, Generations, Lock } from '@mortise/host'
import { isSame } from '../../changes/current-generation.ts'
import { Failure } from '../../failures/index.ts'
import { asFailure } from '../../terminal/explain.ts'

/** Without a number: the last generation with other modules that served. */
export function formerGeneration(
  { known, unreadable }: Generations,
  lock: Lock,
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
    throw new Failure(
      'notFound',
      'generation-unreadable',
      `Generation ${number} cannot be gone back to: ${asFailure(broken.error).message}`,
      'Put the file back from a backup of the folder, or go back to another one: app module-history',
    )
  }
  throw new Failure(
    'notFound',
    'no-such-generation',
    number === undefined
      ? 'There is no former generation to go back to.'
      : `There is no generation ${number}.`,
    'See what there was: app module-history',
  )
}
