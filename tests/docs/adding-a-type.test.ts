import { itRuns } from './support/page.ts';

itRuns('docs/adding-a-type.md');
