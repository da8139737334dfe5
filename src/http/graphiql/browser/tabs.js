// Which tabs GraphiQL opens with, and where it keeps them.

/**
 * A tab as GraphiQL stores it (`TabState` of @graphiql/react).
 * @typedef {object} Tab
 * @property {string} id
 * @property {string} title
 * @property {string | null} query
 * @property {string | null} variables
 * @property {string | null} operationName
 * @property {string | null} headers
 * @property {string | null} response
 * @property {string | null} hash
 *
 * @typedef {{ tabs: Tab[], activeTabIndex: number }} Tabs
 */

/** Apart from the GraphiQL of other projects that were served on the same port. */
const PREFIX = 'content-graph:';
/** Where GraphiQL looks for its tabs. */
const TABS = 'graphiql:tabState';
/** Headers hold a credential, which may be gone by the next visit. The others are derived from the rest. */
const NOT_STORED = new Set(['headers', 'response', 'hash']);

/** The `Storage` of GraphiQL. */
export const storage = {
  getItem: (/** @type {string} */ name) => localStorage.getItem(PREFIX + name),
  setItem(/** @type {string} */ name, /** @type {string} */ value) {
    // GraphiQL stores its tabs half a second late; `storeTabs` has done so by then.
    if (name !== TABS) localStorage.setItem(PREFIX + name, value);
  },
  removeItem: (/** @type {string} */ name) => localStorage.removeItem(PREFIX + name),
  clear: () => localStorage.clear(),
  get length() {
    return localStorage.length;
  },
};

export function storeTabs(/** @type {Tabs} */ tabs) {
  const text = JSON.stringify(tabs, (name, value) => (NOT_STORED.has(name) ? null : value));
  localStorage.setItem(PREFIX + TABS, text);
}

/** @returns {Tabs} */
function storedTabs() {
  return JSON.parse(storage.getItem(TABS) ?? '{"tabs":[],"activeTabIndex":0}');
}

/** @returns {Tab} */
function newTab(
  /** @type {string} */ title,
  /** @type {string} */ query,
  /** @type {string | null} */ variables,
) {
  const id = `${title}-${Date.now()}`;
  return { id, title, query, variables, operationName: null, headers: null, response: null, hash: null };
}

function isReload() {
  const [navigation] = performance.getEntriesByType('navigation');
  return navigation instanceof PerformanceNavigationTiming && navigation.type === 'reload';
}

/**
 * The stored tabs. Any visit but a reload finds every example among them, and no tab without text, which Play could
 * only refuse. A link with an operation (`?query=…&variables=…`) opens it.
 * @param {readonly import('../settings.ts').Example[]} examples
 * @returns {Tabs}
 */
export function tabsToOpen(examples) {
  const stored = storedTabs();
  let tabs = stored.tabs;
  if (tabs.length === 0 || !isReload()) {
    tabs = tabs.filter(({ query }) => query?.trim());
    const missing = examples.filter(({ name }) => !tabs.some(({ title }) => title === name));
    tabs = [...tabs, ...missing.map(({ name, query, variables }) => newTab(name, query, variables ?? null))];
  }
  let active = stored.tabs[stored.activeTabIndex];

  const linked = new URL(location.href).searchParams;
  const query = linked.get('query');
  if (query?.trim()) {
    const variables = linked.get('variables');
    active = tabs.find((tab) => tab.query === query && (variables === null || tab.variables === variables));
    if (active === undefined) {
      active = newTab('', query, variables);
      tabs = [...tabs, active];
    }
    // From here on the operation lives in its tab. The next reload must not open it once more, as it was.
    history.replaceState(null, '', location.pathname);
  }
  return { tabs, activeTabIndex: Math.max(0, active === undefined ? 0 : tabs.indexOf(active)) };
}
