import { itRuns } from './support/page.ts';

itRuns('docs/guides/jwt.md');
