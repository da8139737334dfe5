import { svelte } from '@sveltejs/vite-plugin-svelte';

// The page and the service have one origin. Vite's short form, a string, would change the Host header.
const service = { target: 'http://localhost:4000', changeOrigin: false };

export default {
  plugins: [svelte()],
  server: { proxy: { '/graphql': service, '/login': service, '/logout': service } },
};
