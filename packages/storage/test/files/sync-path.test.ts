import t from 'tap'
import { syncPath } from '../../src/files/sync-path.ts'

t.test('a file that cannot be synced is named', async (t) => {
  await t.rejects(syncPath('/proc/self/status'), { code: 'EINVAL', path: '/proc/self/status' })
})
