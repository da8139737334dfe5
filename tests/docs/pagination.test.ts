import { itRuns } from './support/page.ts';

itRuns('docs/pagination.md');
