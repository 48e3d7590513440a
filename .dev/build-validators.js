// The last step of the build: compiles our own schemas to code, which packages/application/src/config/built-validators.ts finds.
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'

const root = new URL('../packages/application/', import.meta.url)
const require = createRequire(new URL('package.json', root))
const { Ajv, _ } = require('ajv')
const { default: standaloneCode } = require('ajv/dist/standalone')
const { default: addFormats } = require('ajv-formats')
const load = (path) => import(new URL(`dist/${path}.js`, root))

const { validatorName } = await load('config/built-validators')
const { metaOptions, metaSchema } = await load('config/check-schema')
const { dataOptions } = await load('config/first-error')
const { settingsOptions } = await load('config/settings')
const { configSchema } = await load('config/config-schema')
const { Identity } = await load('config/identity')
const { LockFile } = await load('modules/lock-file')
const { Manifest } = await import(require.resolve('@mortise/module-sdk/host'))

const ofSettings = { formats: _`require("./setting-formats.js").formatTests` }
const makers = [
  maker(metaOptions, metaSchema, (ajv) => ajv.getSchema(metaSchema)),
  maker(settingsOptions, configSchema, (ajv) => ajv.compile(configSchema), ofSettings),
  ...[Identity, LockFile, Manifest].map((schema) =>
    maker(dataOptions, schema, (ajv) => addFormats(ajv).compile(schema)),
  ),
]
await writeFile(new URL('dist/config/validators.cjs', root), makers.join('\n'))

function maker(options, schema, compile, code) {
  const ajv = new Ajv({ ...options, code: { ...options.code, ...code, source: true } })
  const text = standaloneCode(ajv, compile(ajv))
  return `exports['${validatorName(options, schema)}'] = () => {\nconst module = {}\n${text}\nreturn module.exports\n}`
}
