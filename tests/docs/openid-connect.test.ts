import { itRuns } from './support/page.ts';

itRuns('docs/guides/openid-connect.md');
