import type { RouteOptions } from 'fastify'

/** `GET /cart/item/:id` is `getCartItemById`, unless its schema has another one. */
export function operationIdOf({ method, url, schema }: RouteOptions, prefix: string): string {
  return schema?.operationId ?? operationId(String([method].flat()[0]), url.slice(prefix.length))
}

function operationId(method: string, path: string): string {
  const segments = path.replace(/:(\w+)/g, 'by/$1').split('/')
  const words = segments.map((segment) => segment.replace(/\W+/g, '_'))
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return `${method.toLowerCase()}${name || 'Overview'}`
}
