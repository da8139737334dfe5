import { itRuns } from './support/page.ts';

itRuns('docs/authentication.md');
