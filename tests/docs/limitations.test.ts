import { itRuns } from './support/page.ts';

itRuns('docs/reference/limitations.md');
