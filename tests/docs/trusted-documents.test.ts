import { itRuns } from './support/page.ts';

itRuns('docs/trusted-documents.md');
