import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** `dist/page/index.html`, and `asset/` with files that have a hash in their names. */
export default defineConfig({
  root: at('.'),
  base: './',
  publicDir: false,
  // Other packages of this repository have another Preact.
  resolve: { dedupe: ['preact'] },
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: at('../dist/page'),
    assetsDir: 'asset',
    emptyOutDir: true,
    target: 'es2023',
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
    // The strict policy of the page allows no inline files or scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
})
