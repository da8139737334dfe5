import { itRuns } from './support/page.ts';

itRuns('docs/clients/curl.md');
