import { replaceModule } from '../replace-module.ts';

/** Loaded with `--import`: the service then has a schema of which some is deprecated. */
replaceModule(
  '/src/schema/schema.ts',
  new URL('./schema.ts', import.meta.url).href,
  new URL('../../support/schema/deprecating-schema.ts', import.meta.url).href,
);
