import { itRuns } from './support/page.ts';

itRuns('docs/guides/accounts.md');
