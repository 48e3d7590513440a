import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The module serves `dist/page`: flat files with a hash in their names, and the manifest that names the entry. */
export default defineConfig({
  root: at('.'),
  base: './',
  publicDir: at('public'),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: at('../dist/page'),
    emptyOutDir: true,
    manifest: 'manifest.json',
    target: 'es2023',
    // A strict policy allows neither inline files nor inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: at('src/main.tsx'),
      output: {
        entryFileNames: '[name]-[hash].js',
        chunkFileNames: '[name]-[hash].js',
        assetFileNames: '[name]-[hash][extname]',
      },
    },
  },
})
