import t from 'tap'
import { createApp, modules } from '../http/create-app.ts'

t.test(
  'names the application, its version, every module without the reason of a failure, and where the docs are',
  async (t) => {
    for (const basePath of ['', '/api']) {
      const app = await createApp(t, { basePath })
      const { links, ...rest } = (await app.inject(basePath || '/')).json()
      const shown = modules.map(({ id, version, state }) => ({ id, version, state }))
      t.strictSame(rest, { name: 'Shop', version: '3.2.1', modules: shown })
      t.equal((await app.inject(links.docs)).headers['content-type'], 'text/html; charset=utf-8')
      t.match((await app.inject(links.openapi)).json(), { openapi: /^3\.1/ })
    }
  },
)
