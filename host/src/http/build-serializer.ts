import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { CompiledSchemas } from './compiled-schemas.ts'

type Build = ReturnType<typeof SerializerSelector>
type Serialize = ReturnType<ReturnType<Build>>

const compiled = new CompiledSchemas<Serialize>()
const build = SerializerSelector()

/** Makes Fastify's serializer compiler for one scope. It compiles each schema once. */
export const buildSerializer: Build = (shared, options) => {
  const compile = build(shared, options)
  const once = compiled.of(shared as object)
  return (route) => once(route.schema as object, () => compile(route))
}
