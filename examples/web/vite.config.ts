import { defineConfig } from 'vite';

/** The service serves the built page under `/example/`; Vite's own server has it at `/`. */
export default defineConfig(({ command }) => ({
  base: command === 'build' ? '/example/' : '/',
  // The names that the session cookie needs: see docs/web-page.md.
  server: { host: 'localhost', port: 5173, strictPort: true, fs: { allow: ['..'] } },
  // The policy of the service allows files of its own origin only, and no inline code.
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: false },
}));
