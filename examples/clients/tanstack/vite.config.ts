import type { ProxyOptions } from 'vite';

// The page and the service have one origin, as in most productions. Vite's short form, a string, would change the Host
// header, and the service would take the page for a foreign origin.
const service: ProxyOptions = {
  target: 'http://localhost:4000',
  changeOrigin: false,
  // Streams of a service that has died end here, too: the proxy would leave them open.
  configure: (proxy) =>
    proxy.on('proxyRes', (answer, _request, response) => {
      answer.once('close', () => answer.complete || response.destroy());
    }),
};

export default {
  server: { proxy: { '/graphql': service, '/login': service, '/logout': service } },
};
