import { itRuns } from './support/page.ts';

itRuns('docs/idempotency.md');
