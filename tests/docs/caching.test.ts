import { itRuns } from './support/page.ts';

itRuns('docs/caching.md');
