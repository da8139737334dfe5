// The page and the service have one origin, as in most productions. Vite's short form, a string, would change the Host
// header, and the service would take the page for a foreign origin.
const service = { target: 'http://localhost:4000', changeOrigin: false };

export default {
  server: { proxy: { '/graphql': service, '/login': service, '/logout': service } },
};
