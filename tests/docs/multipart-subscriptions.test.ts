import { itRuns } from './support/page.ts';

itRuns('docs/guides/multipart-subscriptions.md');
