import { invalidRequest, type ModuleInstance, Strict } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type { Commands } from './commands.ts'
import { problem, responses } from './module.ts'
import { PassedOn } from './passed-on.ts'
import type { Parts } from './session-routes.ts'
import type { Session } from './sessions.ts'

const Query = Strict({
  words: Type.Optional(Type.String({ maxLength: 200 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  before: Type.Optional(Type.Integer({ minimum: 1 })),
  object: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  outdated: Type.Optional(Type.Literal('true')),
  whole: Type.Optional(Type.Literal('true')),
  usage: Type.Optional(Type.Literal('true')),
})

/** A name that is installed or in a registry: not a file of the machine. */
const PACKAGE = /^(npm:)?(@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~][\w.~-]*(@[\w.^~-]+)?$/

/** What `app <command> --json` prints, for commands that only look. */
export function readRoutes(app: ModuleInstance, { sessions, operator }: Parts, commands: Commands): void {
  app.get(
    '/console/operator/*',
    {
      config: { access: 'public' },
      schema: {
        hide: true,
        summary: 'What a command prints that only looks',
        params: Type.Object({ '*': Type.String() }),
        querystring: Query,
        response: {
          200: PassedOn<unknown>('the document of the command'),
          ...responses(
            'not-signed-in',
            'command-failed',
            'commands-busy',
            'no-such-command',
            'invalid-request',
          ),
        },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const session = await sessions.of(request)
      const { words = '', limit, before, object, outdated, usage, whole } = request.query
      const [command = '', ...rest] = request.params['*'].split('/')
      const name = rest.join('/')
      if (name !== '' && command !== 'module-info') throw problem('no-such-command')
      switch (command) {
        case 'host':
          return (await operator.call(session.user, { method: 'GET', path: '/' })).json()
        case 'module-list':
          return await commands.read('module-list', [], {
            ...(outdated && { outdated: true }),
            ...(usage && { usage: true }),
          })
        case 'module-info':
          return await commands.read('module-info', [nameFor(session, name)])
        case 'config':
          return await commands.read('config', ['get'])
        case 'search':
          return await commands.read('search', wordsIn(words))
        case 'audit':
          return await operator.read('audit', { limit, before, object })
        // The page asks for these every few seconds: a process each time is too much.
        case 'work':
        case 'events':
          return await operator.read(command, { limit })
        case 'doctor':
          return await commands.read('doctor', [], whole ? {} : { quick: true })
        case 'module-history':
          return await commands.read(command)
        default:
          throw problem('no-such-command')
      }
    },
  )
}

function nameFor({ user }: Session, name: string): string {
  if (PACKAGE.test(name) || (name !== '' && user.scopes.includes('admin'))) return name
  throw invalidRequest({ parameter: '*', detail: 'must be the name of a module or package' })
}

function wordsIn(text: string): string[] {
  const words = text.split(/\s+/).filter((word) => word !== '')
  if (words.length > 0) return words
  throw invalidRequest({ parameter: 'words', detail: 'must have a word' })
}
