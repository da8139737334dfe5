import { type Config, loadConfig } from '../platform/config/config.ts';

/**
 * The limits of content (contract section 1). Checks, descriptions and the bounds of responses are computed from these
 * numbers. Numbers that operators may choose come from the settings. There are none so far.
 */
export const contentLimits = (_settings: Pick<Config, never>) => ({
  account: {
    keyName: { min: 1, max: 100, visible: true },
    /** A longer list is of no use, because the newest entries are the ones in use. */
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

export type ContentLimits = ReturnType<typeof contentLimits>;

/** The limits under the default settings, which the published schema has. */
export const CONTENT_LIMITS = contentLimits(loadConfig({}));
