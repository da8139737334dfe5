// Selects the initial tabs of GraphiQL, and stores tabs.

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

/** The prefix separates these tabs from the GraphiQL of other projects on the same port. */
const PREFIX = 'content-graph:';
/** GraphiQL reads its tabs from this key. */
const TABS = 'graphiql:tabState';
/**
 * Headers contain a credential, which may be invalid by the next visit. The others are derived from the rest.
 */
const NOT_STORED = new Set(['headers', 'response', 'hash']);

/** If storage is full or disabled, a value lasts as long as the page. */
const kept = new Map();

/**
 * @template T
 * @param {(local: Storage) => T} use
 * @returns {T | undefined} undefined if the browser throws
 */
function withLocalStorage(use) {
  try {
    return use(localStorage);
  } catch (error) {
    if (error instanceof DOMException) return undefined;
    throw error;
  }
}

const ownNames = () =>
  withLocalStorage((local) => Object.keys(local).filter((name) => name.startsWith(PREFIX))) ?? [];

function write(/** @type {string} */ name, /** @type {string} */ value) {
  const isStored = withLocalStorage((local) => {
    local.setItem(PREFIX + name, value);
    return true;
  });
  if (isStored) kept.delete(name);
  else kept.set(name, value);
}

/** The `Storage` of GraphiQL. */
export const storage = {
  getItem: (/** @type {string} */ name) =>
    kept.get(name) ?? withLocalStorage((local) => local.getItem(PREFIX + name)) ?? null,
  setItem(/** @type {string} */ name, /** @type {string} */ value) {
    // GraphiQL stores its tabs with a delay of half a second, and `storeTabs` has stored them by then.
    if (name !== TABS) write(name, value);
  },
  removeItem(/** @type {string} */ name) {
    kept.delete(name);
    withLocalStorage((local) => local.removeItem(PREFIX + name));
  },
  /** Values of other pages of this origin stay. */
  clear() {
    kept.clear();
    for (const name of ownNames()) withLocalStorage((local) => local.removeItem(name));
  },
  get length() {
    return ownNames().length;
  },
};

/** The tabs that this window has or has had. */
const seen = new Set();

/** Stores the tabs of this window, and keeps the tabs that other windows have opened. */
export function storeTabs(/** @type {Tabs} */ { tabs, activeTabIndex }) {
  for (const { id } of tabs) seen.add(id);
  const others = storedTabs().tabs.filter(({ id }) => !seen.has(id));
  const stored = { tabs: [...tabs, ...others], activeTabIndex };
  write(
    TABS,
    JSON.stringify(stored, (name, value) => (NOT_STORED.has(name) ? null : value)),
  );
}

const isText = (/** @type {unknown} */ value) => typeof value === 'string';
const isTextOrNull = (/** @type {unknown} */ value) => value === null || isText(value);

/** @returns {value is Tab} */
function isTab(/** @type {unknown} */ value) {
  const { id, title, query, variables, operationName } = Object(value);
  return isText(id) && isText(title) && [query, variables, operationName].every(isTextOrNull);
}

/** @returns {unknown} undefined if the text is not JSON */
function parsed(/** @type {string} */ text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The value can be anything, because other versions and other pages of this origin write it too.
 * @returns {Tabs}
 */
function storedTabs() {
  const { tabs, activeTabIndex } = Object(parsed(storage.getItem(TABS) ?? 'null'));
  if (!Array.isArray(tabs)) return { tabs: [], activeTabIndex: 0 };
  return { tabs: tabs.filter(isTab), activeTabIndex: Number(activeTabIndex) || 0 };
}

/** GraphiQL names a tab without an operation name by this expression. */
const nameOf = (/** @type {string} */ query) =>
  /^(?!#).*(query|subscription|mutation)\s+([a-zA-Z0-9_]+)/m.exec(query)?.[2] ?? '<untitled>';

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
 * Selects the stored tabs. Every visit except a reload has all examples, and no empty tab, which Play would
 * reject. A link with an operation (`?query=…&variables=…`) opens the operation in a tab.
 * @param {readonly import('../routes.ts').Example[]} examples
 * @returns {Tabs}
 */
export function tabsToOpen(examples) {
  const stored = storedTabs();
  for (const { id } of stored.tabs) seen.add(id);
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
      active = newTab(nameOf(query), query, variables);
      tabs = [...tabs, active];
    }
    // The operation now lives in its tab. A reload must not open the original operation again.
    const token = linked.get('token');
    history.replaceState(null, '', token === null ? location.pathname : `?${new URLSearchParams({ token })}`);
  }
  return { tabs, activeTabIndex: Math.max(0, active === undefined ? 0 : tabs.indexOf(active)) };
}
