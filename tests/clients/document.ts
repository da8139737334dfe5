import { createRequire } from 'node:module';
import type { JSDOM as Dom } from '../../examples/clients/node_modules/@types/jsdom/index.d.ts';

// Import this before React, which looks for a document when it is loaded.
const { JSDOM } = createRequire(new URL('../../examples/clients/package.json', import.meta.url))('jsdom') as {
  JSDOM: typeof Dom;
};
const { window } = new JSDOM('<!doctype html>');
Object.assign(globalThis, { window, document: window.document });
