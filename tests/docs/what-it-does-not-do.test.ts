import { itRuns } from './support/page.ts';

itRuns('docs/what-it-does-not-do.md');
