import { type Config, loadConfig } from '../platform/config/config.ts';

/**
 * The rules of contract section 1: what is checked, what descriptions say and how large a response may be is made of these
 * numbers. Those that operators may choose are taken from the settings: none of them so far.
 */
export const rulesOf = (_settings: Pick<Config, never>) => ({
  account: {
    keyName: { min: 1, max: 100, visible: true },
    /** Nobody looks through a longer list, and the newest entries are the ones in use. */
    maxListed: 100,
  },
  post: {
    title: { min: 1, max: 200, visible: true },
    body: { min: 1, max: 50_000 },
    tag: { min: 1, max: 50 },
    maxTags: 10,
  },
  comment: { body: { min: 1, max: 5_000 } },
});

export type Rules = ReturnType<typeof rulesOf>;

/** The rules under the default settings: those of the published schema. */
export const RULES = rulesOf(loadConfig({}));
