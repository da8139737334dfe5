import { registerHooks } from 'node:module';

/** Loaded with `--import`: the service then gets store-apart.ts in place of its own store. */
const OWN = '/src/operation/idempotency/store.ts';
const APART = new URL('./store-apart.ts', import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const replaced = resolved.url.endsWith(OWN) && context.parentURL !== APART;
    return replaced ? { ...resolved, url: APART } : resolved;
  },
});
