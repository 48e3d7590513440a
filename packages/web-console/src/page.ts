import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { Binary, type ModuleInstance } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { problem, responses } from './module.ts'

/** What Vite has built. */
export const builtPage = join(import.meta.dirname, '..', 'dist', 'page')

const policy = [
  "default-src 'none'",
  ...['script-src', 'style-src', 'img-src', 'connect-src', 'font-src', 'base-uri'].map(
    (one) => `${one} 'self'`,
  ),
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
}

const codings = { br: promisify(brotliCompress), gzip: promisify(gzip) }
type Coding = keyof typeof codings

/**
 * The page: one HTML document for every path below /console, and the files that it names, which
 * have a hash in their names.
 * @param folder with `index.html` and `asset/`
 * @param hasIssuer whether people can sign in at an issuer: the page then has a link to it
 */
export function pageRoutes(app: ModuleInstance, folder: string, hasIssuer: boolean): void {
  const shell = htmlIn(folder, app.prefix, hasIssuer)
  const assets = filesIn(join(folder, 'asset'))
  const compressed = new Map<string, Promise<Buffer>>()

  const send = (request: FastifyRequest, reply: FastifyReply, name: string, bytes: Buffer) => {
    reply.header('vary', 'Accept-Encoding')
    const coding = codingFor(request, name, bytes)
    if (coding === undefined) return bytes
    reply.header('content-encoding', coding)
    const key = `${coding} ${name}`
    const known = compressed.get(key) ?? codings[coding](bytes)
    compressed.set(key, known)
    return known
  }

  for (const url of ['/console', '/console/*'])
    app.get(
      url,
      {
        config: { access: 'public' },
        schema: {
          hide: true,
          summary: 'The page',
          ...(url.endsWith('*') && { params: Type.Object({ '*': Type.String() }) }),
          response: { 200: Binary('text/html', 'the page'), ...responses('page-not-built') },
        },
      },
      async (request, reply) => {
        if (shell === undefined) throw problem('page-not-built')
        reply.type('text/html; charset=utf-8')
        reply.headers({ 'cache-control': 'no-store', 'content-security-policy': policy })
        return send(request, reply, 'index.html', shell)
      },
    )

  app.get(
    '/console/asset/*',
    {
      config: { access: 'public' },
      schema: {
        hide: true,
        summary: 'A file of the page',
        params: Type.Object({ '*': Type.String() }),
        response: { 200: Binary('*/*', 'the file'), ...responses('asset-not-found') },
      },
    },
    async (request, reply) => {
      const name = request.params['*']
      const bytes = assets.get(name)
      if (bytes === undefined) throw problem('asset-not-found')
      reply.type(types[extname(name)] ?? 'application/octet-stream')
      reply.header('cache-control', 'public, max-age=31536000, immutable')
      return send(request, reply, name, bytes)
    },
  )
}

/** The document, with the address that its relative links begin with, and how people sign in. */
function htmlIn(folder: string, prefix: string, hasIssuer: boolean): Buffer | undefined {
  try {
    const html = readFileSync(join(folder, 'index.html'), 'utf8')
    const issuer = hasIssuer ? '\n<meta name="issuer">' : ''
    return Buffer.from(html.replace('<head>', `<head>\n<base href="${prefix}/console/">${issuer}`))
  } catch {
    return undefined
  }
}

function filesIn(folder: string): ReadonlyMap<string, Buffer> {
  try {
    return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]))
  } catch {
    return new Map()
  }
}

function codingFor({ headers }: FastifyRequest, name: string, bytes: Buffer): Coding | undefined {
  const accepted = String(headers['accept-encoding'] ?? '')
  if (bytes.length < 1024 || /\.(png|woff2)$/.test(name)) return undefined
  if (/\bbr\b/.test(accepted)) return 'br'
  return /\bgzip\b/.test(accepted) ? 'gzip' : undefined
}
