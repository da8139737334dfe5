import type { Contestant } from '../contestants.ts';
import type { Prepared } from '../data/service-data.ts';
import { postRequest } from '../harness/connection.ts';
import type { Workload } from '../workloads.ts';
import { bodyOf } from './requests.ts';

/** The service's own origin, and one of CORS_ORIGINS. */
export const OWN_ORIGIN = 'https://bench.example';
export const OTHER_ORIGIN = 'https://app.example';

/** What Chromium 156 sends with every POST of a page's `fetch`, besides what is here by itself. */
const OF_CHROMIUM = {
  connection: 'keep-alive',
  'sec-ch-ua-platform': '"Linux"',
  'user-agent':
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36',
  'sec-ch-ua': '"Not:A-Brand";v="8", "Chromium";v="156"',
  'sec-ch-ua-mobile': '?0',
  accept: '*/*',
  'sec-fetch-mode': 'cors',
  'sec-fetch-dest': 'empty',
  'accept-encoding': 'gzip, deflate, br, zstd',
  'accept-language': 'en-US,en;q=0.9',
};

/** How a page asks. */
export interface Way {
  readonly name: string;
  readonly origin: typeof OWN_ORIGIN | typeof OTHER_ORIGIN | undefined;
  /** Answers are compressed for a key only. */
  readonly by: 'key' | 'cookie';
}

/** Without any header of a browser. */
export const BARE: Way = { name: 'no browser', origin: undefined, by: 'key' };

export const WAYS: readonly Way[] = [
  BARE,
  { name: 'cookie, own origin', origin: OWN_ORIGIN, by: 'cookie' },
  { name: 'cookie, other origin', origin: OTHER_ORIGIN, by: 'cookie' },
  { name: 'key, own origin', origin: OWN_ORIGIN, by: 'key' },
  { name: 'key, other origin', origin: OTHER_ORIGIN, by: 'key' },
];

/** The requests of a workload as a page sends them, each from another user's browser in turn. */
export function browserRequests(
  workload: Workload,
  { origin, by }: Way,
  { dialect }: Contestant,
  data: Prepared & { readonly sessions: readonly string[] },
): Buffer[] {
  const site = origin === OWN_ORIGIN ? 'same-origin' : 'same-site';
  const sent =
    origin === undefined ? {} : { ...OF_CHROMIUM, origin, referer: `${origin}/`, 'sec-fetch-site': site };
  const path = dialect === 'floor' ? `/${workload}` : '/graphql';
  const credentials = by === 'key' ? data.keys : data.sessions;
  const ids = workload === 'W1' ? data.readerIds : data.readerIds.slice(0, credentials.length);
  return ids.map((id, index) => {
    const turn = index % credentials.length;
    const [credential, account = ''] = [credentials[turn], data.readerIds[turn]];
    const shown =
      by === 'key' ? { authorization: `Bearer ${credential}` } : { cookie: `session_id=${credential}` };
    return postRequest(path, bodyOf(workload, dialect, id, account), { ...sent, ...shown });
  });
}
