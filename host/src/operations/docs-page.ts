import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import fp from 'fastify-plugin'

export interface DocsPageOptions {
  readonly application: { readonly name: string }
}

const config = { access: 'public' } as const
const schema = { hide: true }

const csp =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const assets = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

/**
 * `GET /docs`: the interactive page. It serves the files of swagger-ui itself, since @fastify/swagger-ui's
 * routes know neither access nor base path, and add redirects and copies of the document.
 */
export const docsPage = fp<DocsPageOptions>(
  async (app, { application }) => {
    const { prefix } = app
    const page = html(application.name, prefix)
    const start = `SwaggerUIBundle({ url: '${prefix}/openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null })\n`

    app.get('/docs', { config, schema }, (_request, reply) => {
      reply.header('content-security-policy', csp).type('text/html; charset=utf-8').send(page)
    })
    app.get('/docs/static/start.js', { config, schema }, (_request, reply) => {
      reply.type('text/javascript; charset=utf-8').send(start)
    })
    for (const [name, type] of Object.entries(assets)) {
      app.get(`/docs/static/${name}`, { config, schema }, async (_request, reply) => {
        reply.header('cache-control', 'public, max-age=3600').type(type)
        return read(name)
      })
    }
  },
  { name: 'docs-page', fastify: '5.x' },
)

const files = new Map<string, Promise<Buffer>>()

/** The file of swagger-ui, read once: it is the same for every generation. */
function read(name: string): Promise<Buffer> {
  const known = files.get(name)
  if (known) return known
  const file = readFile(createRequire(import.meta.url).resolve(`@fastify/swagger-ui/static/${name}`))
  files.set(name, file)
  return file
}

function html(title: string, prefix: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${htmlText(title)}: API</title>
<link rel="icon" href="${prefix}/docs/static/favicon-32x32.png">
<link rel="stylesheet" href="${prefix}/docs/static/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="${prefix}/docs/static/swagger-ui-bundle.js"></script>
<script src="${prefix}/docs/static/start.js"></script>
</body>
</html>
`
}

function htmlText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
