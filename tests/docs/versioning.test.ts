import { itRuns } from './support/page.ts';

itRuns('docs/versioning.md');
