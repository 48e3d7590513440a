import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import { atFirstCall } from './build-validator.ts'
import { CompiledSchemas } from './compiled-schemas.ts'

type Build = ReturnType<typeof SerializerSelector>
type Serialize = ReturnType<ReturnType<Build>>

const compiled = new CompiledSchemas<Serialize>()
const buildOne = SerializerSelector()

/**
 * Makes Fastify's serializer compiler for one scope. It compiles each schema once.
 *
 * @param lazy whether it compiles a schema for its first response
 */
export const buildSerializer =
  (lazy: boolean): Build =>
  (shared, options) => {
    const build = buildOne(shared, options)
    const compile = (route: Parameters<typeof build>[0]) => failingAsBug(build(route))
    const once = compiled.of(shared as object)
    return (route) => {
      const serializer = () => once(route.schema as object, () => compile(route))
      return lazy ? atFirstCall(serializer) : serializer()
    }
  }

/** A body that its schema refuses is a bug, whatever status the reply has. */
function failingAsBug(serialize: Serialize): Serialize {
  return (body) => {
    try {
      return serialize(body)
    } catch (error) {
      throw new TypeError((error as Error).message, { cause: error })
    }
  }
}
