import { itRuns } from './support/page.ts';

itRuns('docs/guides/edit-conflicts.md');
