import { itRuns } from './support/page.ts';

itRuns('docs/errors.md');
