import { replaceModule } from '../replace-module.ts';

/** Loaded with `--import`: the service then divides its search index into small buckets. */
replaceModule('/src/schema/search/indexer.ts', new URL('./indexer.ts', import.meta.url).href);
