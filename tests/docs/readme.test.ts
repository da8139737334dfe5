import { itRuns } from './support/page.ts';

itRuns('README.md');
