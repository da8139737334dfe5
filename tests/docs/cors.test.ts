import { itRuns } from './support/page.ts';

itRuns('docs/guides/cors.md');
