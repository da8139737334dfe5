import { itRuns } from './support/page.ts';

itRuns('docs/limits.md');
