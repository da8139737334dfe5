// Starts GraphiQL. The bundle of @graphql-yoga/render-graphiql has been loaded before.
import { createFetcher } from './fetcher.js';
import { createStatus } from './status.js';
import { storage, storeTabs, tabsToOpen } from './tabs.js';

/** @type {import('../routes.ts').Settings} */
const { endpoint, title, headers, tool, examples } = JSON.parse(
  document.getElementById('settings')?.textContent ?? '',
);

/** @type {Record<string, string>} */
const WORKERS = {
  editorWorkerService: './editor-worker.js',
  graphql: './graphql-worker.js',
  json: './json-worker.js',
};
// Where the editor, Monaco, finds its workers.
Object.assign(globalThis, {
  MonacoEnvironment: {
    globalAPI: false,
    getWorkerUrl: (/** @type {string} */ _module, /** @type {string} */ label) =>
      new URL(WORKERS[label] ?? '', import.meta.url).href,
  },
});

const opened = tabsToOpen(examples);
const line = document.getElementById('status');
if (line === null) throw new Error('The page has no status line.');
const status = createStatus(line);

function showTabs(/** @type {import('./tabs.js').Tabs} */ shown) {
  storeTabs(shown);
  status.open(shown.tabs[shown.activeTabIndex]?.id ?? '');
}
showTabs(opened);
const active = opened.tabs[opened.activeTabIndex];

/**
 * The global that the bundle sets.
 * @typedef {{ renderYogaGraphiQL(element: Element | null, props: object): void }} Bundle
 */
const { YogaGraphiQL } = /** @type {typeof globalThis & { YogaGraphiQL: Bundle }} */ (globalThis);
YogaGraphiQL.renderYogaGraphiQL(document.getElementById('root'), {
  fetcher: createFetcher(endpoint, status.begin),
  storage,
  onTabChange: showTabs,
  // GraphiQL finds the stored tab with these strings, and opens it.
  initialQuery: active?.query ?? '',
  initialVariables: active?.variables ?? '',
  initialHeaders: headers,
  defaultHeaders: headers,
  shouldPersistHeaders: false,
  defaultEditorToolsVisibility: tool,
  // By default, GraphiQL writes every edit into the URL, and so into the browser's history.
  onEditQuery: () => {},
  title,
  // The title contains the logo.
  logo: '',
});

// The editors handle the key only while one of them has the focus, and nothing has the focus initially.
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
  /** @type {HTMLElement | null} */
  const play = document.querySelector('.graphiql-execute-button');
  play?.click();
});
