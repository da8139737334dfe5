import { itRuns } from './support/page.ts';

itRuns('docs/operate/oauth-server.md');
