import { defineConfig } from 'vite';

/** Pages outside of this repository install the package. */
const client = new URL('../../packages/client/src/index.ts', import.meta.url).pathname;

/** The service serves the built page under `/example/`; Vite's own server has it at `/`. */
export default defineConfig(({ command }) => ({
  base: command === 'build' ? '/example/' : '/',
  // The names that the session cookie needs: see docs/get-started/tutorial-web-page.md.
  server: { host: 'localhost', port: 5173, strictPort: true, fs: { allow: ['../..'] } },
  resolve: { alias: { 'content-graph-client': client } },
  // The policy of the service allows files of its own origin only, and no inline code.
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: false },
}));
