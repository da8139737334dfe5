import type { Bucket, Credential, State } from './state.ts';

/** Contract section 5, rate and account. */
export interface Limits {
  readonly burst: number;
  readonly perSecond: number;
  readonly accountFactor: number;
  /** Whether the instances share their buckets, through Redis. */
  readonly shared: boolean;
}

/** A bucket that is asked for a token, and what it holds when it is full. */
interface Asked {
  readonly name: string;
  readonly full: number;
}

const TOKEN = 1_000;

/** Whose buckets a request asks: the client's and its account's, or for bad credentials and logins an address'. */
export function bucketsOf(
  limits: Limits,
  instance: number,
  who: Credential | 'failed' | 'address',
): readonly Asked[] {
  const where = limits.shared ? 'all' : instance;
  const full = limits.burst * TOKEN;
  if (typeof who === 'string') return [{ name: `${where} ${who}`, full }];
  const client = who.kind === 'key' ? `key ${who.id}` : `user ${who.account}`;
  return [
    { name: `${where} ${client}`, full },
    { name: `${where} account ${who.account}`, full: full * limits.accountFactor },
  ];
}

/** Buckets of an address are as full as the sequences before have left them: who shares them with those knows nothing. */
function bucketIn(state: State, limits: Limits, { name, full }: Asked): Bucket {
  const unsure = limits.shared && /failed|address/.test(name);
  return state.buckets[name] ?? { low: unsure ? 0 : full, high: full, taken: unsure ? full / TOKEN : 0 };
}

/** The same state, with these buckets changed. All else is shared between the two. */
function withBuckets(
  state: State,
  limits: Limits,
  asked: readonly Asked[],
  change: (bucket: Bucket) => Bucket,
): State {
  const changed = asked.map((one) => [one.name, change(bucketIn(state, limits, one))]);
  return { ...state, buckets: { ...state.buckets, ...Object.fromEntries(changed) } };
}

/**
 * What a request for a token may come to, each with the state after it. While Redis is lost an instance uses buckets of
 * its own: then nobody is rejected who has not asked for as much as a bucket holds.
 */
export function* takes(
  before: State,
  limits: Limits,
  asked: readonly Asked[],
  redisLost: boolean,
): Generator<{ readonly state: State; readonly allowed: boolean; readonly remaining: number | undefined }> {
  const holds = asked.map((one) => ({ one, bucket: bucketIn(before, limits, one) }));
  if (redisLost || holds.every(({ bucket }) => bucket.high >= TOKEN)) {
    const state = withBuckets(before, limits, asked, ({ low, high, taken }) => ({
      low: Math.max(low, TOKEN) - TOKEN,
      high: Math.max(high, TOKEN) - TOKEN,
      taken: taken + 1,
    }));
    const after = asked.map((one) => bucketIn(state, limits, one));
    yield { state, allowed: true, remaining: remainingOf(after, redisLost) };
  }
  const mayBeEmpty = redisLost
    ? holds.some(({ one, bucket }) => bucket.taken * TOKEN >= one.full)
    : holds.some(({ bucket }) => bucket.low < TOKEN);
  if (mayBeEmpty) {
    const buckets = holds.map(({ bucket }) => bucket);
    yield { state: { ...before }, allowed: false, remaining: remainingOf(buckets, redisLost) };
  }
}

/** A request that may have taken its tokens, or not: it failed, and nobody can tell where. */
export function mayHaveTaken(state: State, limits: Limits, asked: readonly Asked[]): State {
  return withBuckets(state, limits, asked, ({ low, high, taken }) => ({
    low: Math.max(0, low - TOKEN),
    high,
    taken: taken + 1,
  }));
}

/** What the header must say; undefined where it depends on the clock. */
function remainingOf(buckets: readonly Bucket[], redisLost: boolean): number | undefined {
  if (redisLost || buckets.some(({ low, high }) => low !== high)) return undefined;
  return Math.floor(Math.min(...buckets.map(({ low }) => low)) / TOKEN);
}

/** Time passes: for certain where the test's clock says so, at most so much where it is a real one. */
export function refill(state: State, limits: Limits, ms: number, certain: boolean): State {
  const filled = Object.entries(state.buckets).map(([name, { low, high, taken }]) => {
    const factor = name.includes('account') ? limits.accountFactor : 1;
    const full = limits.burst * TOKEN * factor;
    const tokens = ms * limits.perSecond * factor;
    return [
      name,
      {
        low: certain ? Math.min(full, low + tokens) : low,
        high: Math.min(full, high + tokens),
        taken,
      },
    ];
  });
  return { ...state, buckets: Object.fromEntries(filled) };
}
