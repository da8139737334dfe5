import { itRuns } from './support/page.ts';

itRuns('docs/oauth.md');
