import { itRuns } from './support/page.ts';

itRuns('docs/oauth-in-a-page.md');
