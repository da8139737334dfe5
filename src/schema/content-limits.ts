import { type Config, loadConfig } from '../platform/config/config.ts';

/** Checks, descriptions and the limits of responses are computed from these numbers (contract: schema). */
export const contentLimits = (_settings: Pick<Config, never>) => ({
  account: {
    keyName: { min: 1, max: 100, visible: true },
    /** Only the newest entries are in use, so a longer list has no use. */
    maxListed: 100,
  },
  profile: {
    handle: { min: 3, max: 30 },
    bio: { min: 0, max: 500 },
    avatarUrl: { min: 1, max: 500 },
  },
  post: {
    title: { min: 1, max: 200, visible: true },
    body: { min: 1, max: 50_000 },
    tag: { min: 1, max: 50 },
    maxTags: 10,
    maxFilterTags: 5,
    slug: { min: 1, max: 80 },
    excerpt: { min: 1, max: 1_000, standard: 200 },
  },
  draft: { maxPerAccount: 200 },
  search: { query: { min: 0, max: 200 }, maxWords: 8 },
  comment: { body: { min: 1, max: 5_000 } },
});

export type ContentLimits = ReturnType<typeof contentLimits>;

/** The published schema has the limits of the default settings. */
export const CONTENT_LIMITS = contentLimits(loadConfig({}));
