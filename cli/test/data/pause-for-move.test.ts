import { join } from 'node:path'
import { pauseForMove } from '@mortise/installer/data'
import t, { type Test } from 'tap'
import { noteVersions } from '../note-versions.ts'
import { runningHost } from '../running-host.ts'

async function application(t: Test) {
  const { directory } = await noteVersions(t, undefined, 'v1')
  return { directory, file: join(directory, 'data', 'app.db') }
}

t.test('callers hear how long the move takes, and the end of the host ends it', async (t) => {
  const { directory, file } = await application(t)
  const host = await runningHost(t, directory)
  const post = async () => {
    const { status, headers } = await fetch(`${host.url}/note`, { method: 'POST' })
    return [status, headers.get('retry-after')]
  }
  let left: number | undefined
  const pause = await pauseForMove(directory, file, () => left)
  t.ok(pause.byHost)
  t.same(await post(), [503, '5'])
  left = 40
  while ((await post())[1] !== '40') await new Promise(setImmediate)
  t.doesNotThrow(() => pause.assertPaused())
  await host.close()
  const ended = () => {
    try {
      pause.assertPaused()
      return undefined
    } catch (error) {
      return error
    }
  }
  while (ended() === undefined) await new Promise((resolve) => setTimeout(resolve, 20))
  t.match(ended(), { code: 'move-interrupted' })
  pause.release()
})

t.test('without a host none can start meanwhile', async (t) => {
  const { directory, file } = await application(t)
  const pause = await pauseForMove(directory, file, () => undefined)
  t.notOk(pause.byHost)
  await t.rejects(runningHost(t, directory), { name: 'StorageBusyError' })
  await t.rejects(
    pauseForMove(directory, file, () => undefined),
    { code: 'busy' },
  )
  pause.release()
  const host = await runningHost(t, directory)
  t.equal((await fetch(`${host.url}/note`, { method: 'POST' })).status, 200)
})
