import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const docs = fileURLToPath(new URL('..', import.meta.url))
const repository = 'https://github.com/mortise/mortise'

/** The four parts of the site: their pages, in order. A page that is in none fails the build. */
const parts = {
  Tutorial: ['tutorial'],
  'How-to': [
    'writing-a-module',
    'reacting',
    'kysely',
    'compatibility',
    'calling',
    'operating',
    'rotating-secrets',
    'console',
    'scaling',
    'contributing',
  ],
  Reference: [
    'reference/commands',
    'configuration',
    'reference/manifest',
    'reference/sdk',
    'errors',
    'glossary',
  ],
  Explanation: ['architecture', 'reliability'],
}

const titleOf = async (page) =>
  /^# (.+)$/m.exec(await readFile(join(docs, `${page}.md`), 'utf8'))[1].replaceAll('`', '')
const itemsOf = (pages) =>
  Promise.all(pages.map(async (page) => ({ text: await titleOf(page), link: `/${page}` })))

const decisions = (await readdir(join(docs, 'decisions')))
  .sort()
  .map((name) => `decisions/${name.slice(0, -3)}`)
const sidebar = await Promise.all(
  Object.entries(parts).map(async ([text, pages]) => ({ text, items: await itemsOf(pages) })),
)
sidebar.at(-1).items.push({ text: 'Decisions', collapsed: true, items: await itemsOf(decisions) })

export default defineConfig({
  title: 'Mortise',
  description: 'A host for HTTP APIs that becomes what is installed into it',
  cleanUrls: true,
  lastUpdated: false,
  srcExclude: ['examples/**'],
  rewrites: { 'README.md': 'index.md' },
  markdown: {
    linkify: false, // a message of a failure may look like an address
    config: (md) => md.core.ruler.push('files-of-the-repository', linkToRepository),
  },
  themeConfig: {
    nav: sidebar.map(({ text, items: [{ link }] }) => ({ text, link })),
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    socialLinks: [{ icon: 'github', link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path` },
  },
  buildEnd({ pages }) {
    const listed = ['index', ...Object.values(parts).flat(), ...decisions].map((page) => `${page}.md`)
    const forgotten = pages.filter((page) => !listed.includes(page) && page !== 'README.md')
    if (forgotten.length > 0) throw new Error(`in no part of the site: ${forgotten.join(', ')}`)
  },
})

/** Pages link to files as GitHub shows them. The site has the pages only, so it links other files to GitHub. */
function linkToRepository({ tokens, env }) {
  for (const link of tokens.flatMap(({ children }) => children ?? [])) {
    const href = link.type === 'link_open' ? link.attrGet('href') : '#'
    if (/^(#|[a-z]+:)/.test(href)) continue
    const [target, anchor] = href.split('#')
    const path = posix.join('docs', posix.dirname(env.relativePath), decodeURI(target))
    if (path.startsWith('docs/') && path.endsWith('.md')) continue
    if (!existsSync(join(docs, '..', path)))
      throw new Error(`${env.relativePath} links to ${href}, which is not there`)
    link.attrSet('href', `${repository}/blob/main/${path}${anchor ? `#${anchor}` : ''}`)
  }
}
