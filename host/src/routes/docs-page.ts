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
    const made = {
      '/docs': new StaticContent(Buffer.from(html(application.name, prefix)), 'text/html; charset=utf-8', {
        'content-security-policy': csp,
      }),
      '/docs/static/start.js': new StaticContent(Buffer.from(start(prefix)), javascript),
      '/docs/static/first.css': new StaticContent(Buffer.from(css), 'text/css; charset=utf-8'),
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
<link rel="stylesheet" href="${prefix}/docs/static/first.css">
</head>
<body>
<header>
<h2>Try it</h2>
<ul>
<li>Here: open a route, press <b>Try it out</b>, then <b>Execute</b>. Your first write makes you a guest, and the browser keeps the cookie.</li>
<li>As a guest, on the command line:<pre id="guest"></pre></li>
<li>Signed in: <code>app token alice</code> prints a token. Press <b>Authorize</b> below and paste it as <code>bearer</code>, or:<pre id="user"></pre></li>
</ul>
<label><input type="checkbox" id="errors"> Show the error responses of each route</label>
</header>
<div id="docs"></div>
<script src="${prefix}/docs/static/swagger-ui-bundle.js"></script>
<script src="${prefix}/docs/static/start.js"></script>
</body>
</html>
`
}

/**
 * The examples read the first list that callers have, without a scope; without one they read what is
 * installed.
 */
const start = (prefix: string) =>
  String.raw`const ui = SwaggerUIBundle({ url: '${prefix}/openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: null, onComplete })
function onComplete() {
  const { paths } = ui.getState().toJS().spec.json
  const isPlain = (get) => !get.parameters?.some(({ required }) => required)
  const has = (scheme) => ([path, { get }]) =>
    !path.includes('{') && get !== undefined && isPlain(get) && get.security?.some((one) => one[scheme]?.length === 0)
  const url = (scheme) => location.origin + '${prefix}' + (Object.entries(paths).find(has(scheme))?.[0] ?? '/')
  document.querySelector('#guest').textContent =
    'GUEST=$(curl -s -X POST ' + location.origin + "${prefix}/guest | sed 's/.*\"token\":\"\\([^\"]*\\)\".*/\\1/')\n" +
    'curl ' + url('guestToken') + ' -H "Guest-Token: $GUEST"'
  document.querySelector('#user').textContent =
    'TOKEN=$(app token alice)\ncurl ' + url('bearer') + ' -H "Authorization: Bearer $TOKEN"'
}
`

/** Error responses are folded away until the box is checked; those of a request that was sent are not. */
const css = `header { max-width: 1420px; margin: 0 auto; padding: 24px 20px 0; font: 14px/1.5 sans-serif; color: #3b4151 }
header h2 { margin: 0; font-size: 20px }
header ul { padding-left: 20px }
header pre { padding: 8px 12px; border-radius: 4px; background: #f0f1f3; overflow: auto }
body:not(:has(#errors:checked)) .responses-table:not(.live-responses-table) .response:is([data-code^='4'], [data-code^='5']) { display: none }
`

const htmlText = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
