import { defineConfig, type Plugin } from 'vitest/config';

// It needs Babel, which only the package of the recipes has.
const recipe = new URL('examples/clients/relay/vite-relay.mjs', import.meta.url);
const { relay } = (await import(recipe.href)) as { relay(): Plugin };

/** The recipes of docs/clients.md against servers in processes of their own. */
export default defineConfig({
  plugins: [relay()],
  test: {
    include: ['tests/clients/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
