import { findGuides } from '../../support/docs/guide.ts';

/** Blocks that are not pasted, each with the reason. */
export interface LeftOut {
  readonly page: string;
  /** The beginning of the block. */
  readonly begins: string;
  readonly reason: string;
}

const WHOLE_SUITE = 'it takes minutes, and .ci/run does the same';
const LIBRARIES = 'npm run test:clients installs the same libraries; another test compares the names';

const INSTALLING = 'apollo codegen gql-tada graphql-sse react relay svelte urql vue'
  .split(' ')
  .map((name) => `docs/clients/${name}.md`);

export const LEFT_OUT: readonly LeftOut[] = [
  {
    page: 'README.md',
    begins: 'npm ci && npm start',
    reason: 'it is the service beside which the others run',
  },
  { page: 'README.md', begins: 'npm ci && npm test', reason: WHOLE_SUITE },
  { page: 'CONTRIBUTING.md', begins: 'npm ci\nnpm test', reason: WHOLE_SUITE },
  { page: 'docs/contributing/tests.md', begins: 'npm test -- ', reason: WHOLE_SUITE },
  {
    page: 'docs/contributing/documentation.md',
    begins: 'npm run docs:build',
    reason: 'site.test.ts builds the site, and npm run docs:dev does not exit',
  },
  {
    page: 'docs/contributing/style.md',
    begins: 'npm test -- tests/contract/wording.test.ts',
    reason: 'npm test runs the same file',
  },
  ...INSTALLING.map((page) => ({ page, begins: 'npm install ', reason: LIBRARIES })),
  {
    page: 'docs/reference/compatibility.md',
    begins: 'npm run test:compatibility',
    reason: 'the full run has the suite, and it needs DATABASE_URL',
  },
  {
    page: 'docs/clients/README.md',
    begins: 'npm pack ',
    reason: 'the test of the tutorial runs the same line',
  },
  {
    page: 'docs/clients/README.md',
    begins: 'mkdir -p src',
    reason: 'npm run test:clients makes that project',
  },
];

/** Pages with a test of their own. */
export const OWN_TEST: readonly string[] = [
  'docs/clients/tanstack.md',
  'docs/guides/server-side-rendering.md',
  'docs/get-started/tutorial-web-page.md',
  ...findGuides(),
];
