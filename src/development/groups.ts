/** A part of the navigation, with its pages in the order in which one reads them. */
export interface Group {
  readonly name: string;
  readonly about: string;
  /** Of `docs/`, without its folder and the ending; others from the root of the repository. */
  readonly pages: readonly string[];
}

export const DECISIONS = 'Decisions';
/** The group of pages about production, whose ports are not those of this machine. */
export const OPERATION = 'Run it';

/** Every page is in one of them: tests/contract/docs-pages.test.ts. A page that is not written yet is left out. */
export const GROUPS: readonly Group[] = [
  {
    name: 'Use the API',
    about: 'For whoever writes a page, an application or a script.',
    pages: [
      'README.md',
      'web-page',
      'clients',
      'react',
      'oauth-in-a-page',
      'python',
      'api',
      'pagination',
      'events',
      'idempotency',
      'errors',
      'limits',
      'authentication',
      'oauth',
      'caching',
      'trusted-documents',
      'versioning',
      'what-it-does-not-do',
      'contract',
      'examples/web/README.md',
    ],
  },
  {
    name: OPERATION,
    about: 'For whoever keeps it going.',
    pages: [
      'deployment',
      'operations',
      'scaling',
      'security',
      'backup',
      'metrics',
      'log',
      'traces',
      'event-log-at-scale',
      'bench/results.md',
    ],
  },
  {
    name: 'Work on it',
    about: 'For whoever changes it.',
    pages: [
      'CONTRIBUTING.md',
      'architecture',
      'glossary',
      'adding-a-type',
      'computed-fields',
      'plugins',
      'dependencies',
    ],
  },
];

/** The file of a page, from the root of the repository. */
export const fileOf = (page: string): string => (page.endsWith('.md') ? page : `docs/${page}.md`);

/** Of pages whose first sentence says too little beside others, or that begin with something else, by their file. */
export const SUMMARIES: ReadonlyMap<string, string> = new Map([
  ['README.md', 'What it is, a first start, and a tour of five minutes.'],
  ['CONTRIBUTING.md', 'How to set up, test and change the service, and what a change must keep.'],
  ['bench/results.md', 'What a request costs, beside a hand-written baseline, Mercurius and PostGraphile.'],
  [
    'docs/api.md',
    'Every query, mutation, subscription and type: arguments, scopes, costs, and examples with their answers.',
  ],
  ['docs/caching.md', 'ETag and 304 for queries over GET, and public answers from a shared cache.'],
  [
    'docs/clients.md',
    'A recipe for each client library: code to copy, which tests run against a server that is killed.',
  ],
  ['docs/dependencies.md', 'Each library in use, and what it is here for.'],
  ['docs/errors.md', 'Every code, what it means, and what a client should do.'],
  ['docs/event-log-at-scale.md', 'Fifty million events, in one table and in a table of partitions.'],
  [
    'docs/events.md',
    'Subscriptions that lose nothing: each event once and in order, across disconnects and restarts.',
  ],
  ['docs/glossary.md', 'The project’s own terms, and where each is in the code.'],
  ['docs/idempotency.md', 'Idempotency-Key: a mutation that is sent again takes effect once.'],
  ['docs/log.md', 'Every field and message of the log, and what to do about it.'],
  ['docs/metrics.md', 'Every metric, with its labels, for Prometheus.'],
  ['docs/pagination.md', 'Cursors, limit and offset, or by time, and which of them when.'],
  ['docs/plugins.md', 'How to add a published plugin of GraphQL Yoga.'],
  ['examples/web/README.md', 'How the page at /example/ is built: live lists, drafts, typed operations.'],
]);
