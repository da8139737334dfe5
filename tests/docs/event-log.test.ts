import { itRuns } from './support/page.ts';

itRuns('docs/operate/event-log.md');
