import t from 'tap'
import { syncPath } from '../../src/files/sync-path.ts'

t.test('an error names the file that cannot be synced', async (t) => {
  await t.rejects(syncPath('/proc/self/status'), { code: 'EINVAL', path: '/proc/self/status' })
})
