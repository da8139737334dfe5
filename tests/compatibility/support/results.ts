/** How a tool has passed a check. */
export type Outcome = 'works' | 'works with settings' | 'does not work';

export interface Verdict {
  readonly outcome: Outcome;
  /** The settings, or the reason. */
  readonly note?: string;
}

export const WORKS: Verdict = { outcome: 'works' };
export const worksWith = (note: string): Verdict => ({ outcome: 'works with settings', note });

interface Group {
  readonly title: string;
  /** The column of the tools. */
  readonly tool: string;
  /** The other columns, by the name of their check. */
  readonly checks: Readonly<Record<string, string>>;
}

/** The tables of the page. A tool that does not offer what a check is about has no verdict for the check. */
export const GROUPS = {
  clients: {
    title: 'Clients',
    tool: 'client',
    checks: { query: 'queries', mutation: 'mutations', subscription: 'subscriptions' },
  },
  proxies: {
    title: 'Proxies',
    tool: 'proxy',
    checks: { requests: 'requests', streams: 'streams', sessions: 'sessions' },
  },
  oauth: {
    title: 'OAuth clients',
    tool: 'client',
    checks: {
      discovery: 'discovery',
      signIn: 'sign-in',
      openid: 'ID tokens',
      refresh: 'refresh',
      service: 'client credentials',
      revocation: 'revocation',
      signOut: 'sign-out',
    },
  },
  issuers: {
    title: 'External issuers',
    tool: 'issuer',
    checks: { tokens: 'access tokens', accounts: 'accounts' },
  },
} as const satisfies Readonly<Record<string, Group>>;

export type GroupName = keyof typeof GROUPS;
export type CheckName<Name extends GroupName> = keyof (typeof GROUPS)[Name]['checks'] & string;

/** A tool, and what the tests of its file show. */
export interface Row<Name extends GroupName = GroupName> {
  readonly group: Name;
  readonly name: string;
  readonly version: string;
  readonly checks: { readonly [Check in CheckName<Name>]?: Verdict };
}

/** A row whose tests have passed. */
export interface Result {
  /** The test file, below `tests/compatibility`. */
  readonly file: string;
  readonly row: Row;
}

/** The ways in which the service runs. */
export const HOSTS = ['direct', 'yoga'] as const;
export type Host = (typeof HOSTS)[number];

/** What `results.json` has: the results on each host. */
export type Results = Readonly<Record<Host, readonly Result[]>>;
