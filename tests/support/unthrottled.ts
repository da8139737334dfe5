/** Settings for tests that ask much of one account: rate limits have tests of their own. */
export const UNTHROTTLED = { RATE_LIMIT_BURST: '10000', RATE_LIMIT_PER_SECOND: '10000' } as const;
