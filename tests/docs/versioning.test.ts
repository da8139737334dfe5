import { itRuns } from './support/page.ts';

itRuns('docs/reference/versioning.md');
