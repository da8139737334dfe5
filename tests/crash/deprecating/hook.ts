import { registerHooks } from 'node:module';

/** Loaded with `--import`: the service then has a schema of which some is deprecated. */
const OWN = '/src/schema/schema.ts';
const DEPRECATING = new URL('./schema.ts', import.meta.url).href;
const BASED_ON_OWN = [
  DEPRECATING,
  new URL('../../support/schema/deprecating-schema.ts', import.meta.url).href,
];

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const replaced = resolved.url.endsWith(OWN) && !BASED_ON_OWN.includes(context.parentURL ?? '');
    return replaced ? { ...resolved, url: DEPRECATING } : resolved;
  },
});
