import { itRuns } from './support/page.ts';

itRuns('docs/guides/trusted-documents.md');
