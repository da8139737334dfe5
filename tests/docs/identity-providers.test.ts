import { itRuns } from './support/page.ts';

itRuns('docs/guides/identity-providers.md');
