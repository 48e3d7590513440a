import { Strict } from '@mortise/module-sdk'
import fp from 'fastify-plugin'

/**
 * A route that declares no query parameters takes none: an unknown one is refused there as everywhere. What
 * validates the parts of a request is `buildValidator`, an option of the instance.
 */
export const validation = fp(
  async (app) => {
    app.addHook('onRoute', (route) => {
      if (route.schema?.querystring || route.url === '*') return
      route.schema = { ...route.schema, querystring: Strict({}) }
    })
  },
  { name: 'validation', fastify: '5.x' },
)
