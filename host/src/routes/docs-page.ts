import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import fp from 'fastify-plugin'
import { madeOnce } from '../http/made-once.ts'
import { StaticContent } from '../http/static-content.ts'

const config = { access: 'public' } as const
const schema = { hide: true }

const csp =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const javascript = 'text/javascript; charset=utf-8'
const assets = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': javascript,
  'favicon-32x32.png': 'image/png',
}
/** The files of swagger-ui: the same for every generation. */
const files = Object.entries(assets).map(([name, type]) => [name, madeOnce(() => read(name, type))] as const)

/**
 * `GET /docs`: the interactive page. It serves the files of swagger-ui itself: the routes of
 * @fastify/swagger-ui take no access, compress nothing, and add a redirect and two copies of the
 * document. swagger-ui-dist, which has the files alone, brings a package with an install script.
 */
export const docsPage = fp<{ readonly application: { readonly name: string } }>(
  async (app, { application }) => {
    const { prefix } = app
    const start = `SwaggerUIBundle({ url: '${prefix}/openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null })\n`
    const made = {
      '/docs': new StaticContent(Buffer.from(html(application.name, prefix)), 'text/html; charset=utf-8', {
        'content-security-policy': csp,
      }),
      '/docs/static/start.js': new StaticContent(Buffer.from(start), javascript),
    }
    for (const [path, content] of Object.entries(made)) {
      app.get(path, { config, schema }, (request, reply) => content.negotiate(request, reply))
    }
    for (const [name, file] of files) {
      app.get(`/docs/static/${name}`, { config, schema }, async (request, reply) =>
        (await file()).negotiate(request, reply),
      )
    }
  },
)

async function read(name: string, type: string): Promise<StaticContent> {
  const path = createRequire(import.meta.url).resolve(`@fastify/swagger-ui/static/${name}`)
  return new StaticContent(await readFile(path), type, { 'cache-control': 'public, max-age=3600' })
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

const htmlText = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
