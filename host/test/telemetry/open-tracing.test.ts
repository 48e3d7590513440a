import { registerHooks } from 'node:module'
import { ConfigError } from '@mortise/application'
import t from 'tap'
import {
  applicationFolder,
  install,
  oneRoute,
} from '../../../packages/application/test/application-folder.ts'
import { Application } from '../../src/application.ts'
import { loadedOfOpenTelemetry } from './loaded-packages.ts'

t.test('OpenTelemetry is not loaded without a collector', async (t) => {
  const directory = await applicationFolder(t)
  await install(t, directory, oneRoute('note', 'yes'))
  const application = await Application.start({ directory, environment: {} })
  t.teardown(() => application.close())
  t.equal((await fetch(`${application.url}/note`)).status, 200)
  t.same(loadedOfOpenTelemetry(), [])
})

t.test('a missing OpenTelemetry package fails the start', async (t) => {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      return next(specifier === '@fastify/otel' ? '@fastify/not-there' : specifier, context)
    },
  })
  t.teardown(() => hooks.deregister())
  const directory = await applicationFolder(t, { telemetry: { endpoint: 'http://127.0.0.1:4318' } })
  await t.rejects(Application.start({ directory, environment: {} }), {
    constructor: ConfigError,
    message: /"telemetry\.endpoint".*not installed.*--omit=optional/,
  })
  await t.rejects(
    Application.start({ directory, environment: {} }),
    ConfigError,
    'the database was closed again',
  )
})
