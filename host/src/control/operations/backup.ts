import { copyDatabase } from '@mortise/storage'
import { Type } from '@sinclair/typebox'
import { IdentityError } from '../../config/identity.ts'
import { whileOpen } from '../open-application.ts'
import { isDatabaseMissing } from '../open-application-storage.ts'
import { databaseOperation } from '../operation.ts'

/** Writes a copy of the database, as of one moment, to an absolute path. */
export const backup = databaseOperation({
  input: Type.Object({ file: Type.String() }),
  async run({ storage }, { file }) {
    await storage.copyTo(file)
    return {}
  },

  /** Does not lock a SQLite file against hosts and other commands. */
  async alone(config, { file }) {
    const { databaseFile } = config
    if (databaseFile === undefined || (await isDatabaseMissing(config))) {
      await whileOpen(config, ({ storage }) => storage.copyTo(file))
      return {}
    }
    await whileOpen(config, async () => {}).catch((error) => {
      // Otherwise the records wait for the next command.
      if (error instanceof IdentityError) throw error
    })
    try {
      await copyDatabase(databaseFile, file)
      return {}
    } catch (error) {
      const { path = databaseFile } = error as NodeJS.ErrnoException
      throw Object.assign(error as Error, { path })
    }
  },
})
