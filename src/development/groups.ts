/** A part of the navigation, with its pages in the order in which one reads them. */
export interface Group {
  readonly name: string;
  readonly about: string;
  /** Of `docs/`, without its folder and the ending; others from the root of the repository. */
  readonly pages: readonly string[];
}

export const DECISIONS = 'Decisions';

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
    name: 'Run it',
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
