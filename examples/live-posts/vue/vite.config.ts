import vue from '@vitejs/plugin-vue';

// The page and the service have one origin. Vite's short form, a string, would change the Host header.
const service = { target: 'http://localhost:4000', changeOrigin: false };

export default {
  plugins: [vue()],
  server: { proxy: { '/graphql': service, '/login': service, '/logout': service } },
};
