import { fileURLToPath } from 'node:url';
import adapter from '@sveltejs/adapter-node';
import { sveltekit } from '@sveltejs/kit/vite';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [sveltekit({ adapter: adapter() })],
  resolve: {
    // In another project, install the package "content-graph-client" instead.
    alias: {
      'content-graph-client': fileURLToPath(new URL('../../packages/client/src/index.ts', import.meta.url)),
    },
  },
  // The page calls the service on its own origin. In production, the proxy passes these requests on.
  server: { proxy: { '/graphql': process.env.API_ORIGIN ?? 'http://localhost:4000' } },
});
