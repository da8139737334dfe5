import { itRuns } from './support/page.ts';

itRuns('docs/guides/sorting-and-filtering.md');
