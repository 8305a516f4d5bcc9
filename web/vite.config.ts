import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

// One script and one sheet, which Python inlines into every exported page.
export default defineConfig(({ mode }) => ({
  plugins: [svelte()],
  // Vitest would else take Svelte's server build; a build needs Vite's own conditions to be small.
  resolve: mode === 'test' ? { conditions: ['browser'] } : {},
  build: {
    outDir: '../src/langscape/static',
    emptyOutDir: true,
    target: 'es2022',
    copyPublicDir: false,
    lib: {
      entry: 'src/page.ts',
      name: 'langscape',
      formats: ['iife'],
      fileName: () => 'page.js',
      cssFileName: 'page',
    },
  },
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'] },
}))
