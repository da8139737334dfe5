import { itRuns } from './support/page.ts';

itRuns('docs/events.md');
