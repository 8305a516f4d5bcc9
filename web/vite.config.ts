import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vitest/config'

const OUT = new URL('../src/langscape/static', import.meta.url).pathname
const TARGET = 'es2022'
const SVELTE = new URL('svelte.config.js', import.meta.url).pathname

/** Three builds of the same components: `vite build`, then `--mode studio` and `--mode widget`. */
const BUILDS = {
  /** One script and one sheet, which Python inlines into every exported page. */
  page: {
    outDir: OUT,
    emptyOutDir: true,
    target: TARGET,
    copyPublicDir: false,
    lib: { entry: 'src/page.ts', name: 'langscape', formats: ['iife' as const], fileName: () => 'page.js', cssFileName: 'page' },
  },
  /** What the server serves: files of their own, since its policy allows nothing inline. */
  studio: {
    outDir: `${OUT}/studio`,
    emptyOutDir: true,
    target: TARGET,
    copyPublicDir: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  /** One ES module for notebooks; sheets are inside, and go into the shadow root that it draws in. */
  widget: {
    outDir: OUT,
    emptyOutDir: false,
    target: TARGET,
    copyPublicDir: false,
    lib: { entry: 'src/widget.ts', formats: ['es' as const], fileName: () => 'widget.js' },
  },
}

export default defineConfig(({ mode }) => ({
  root: mode === 'studio' ? 'src/studio' : '.',
  plugins: [svelte({ configFile: SVELTE, ...(mode === 'widget' && { compilerOptions: { css: 'injected' } }) })],
  // Vitest would else take Svelte's server build; a build needs Vite's own conditions to be small.
  resolve: mode === 'test' ? { conditions: ['browser'] } : {},
  build: {
    ...(BUILDS[mode as keyof typeof BUILDS] ?? BUILDS.page),
    // How long each plugin took is no news to who only wants the page; warnings and errors still are shown.
    rolldownOptions: {
      checks: { pluginTimings: false },
      // A library's module keeps its white space, for who bundles it again; a notebook stores every byte of it.
      ...(mode === 'widget' && { output: { minify: true } }),
    },
  },
  // the sheet is read by a test
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'], css: { include: [/app\.css/] } },
}))
