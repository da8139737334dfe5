import { itRuns } from './support/page.ts';

itRuns('docs/guides/idempotency.md');
