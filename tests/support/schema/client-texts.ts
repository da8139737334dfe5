import { GRAPHQL } from '../../../bench/workloads/texts.ts';
import texts from './client-texts.json' with { type: 'json' };

/** Valid documents such as clients write. */
export const PAGES: readonly string[] = [...Object.values(GRAPHQL), ...texts.valid];

/** Documents that the full validation rejects, each for a reason of its own, and some that are unusual only. */
export const STRANGE: readonly string[] = texts.strange;
