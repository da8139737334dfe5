import { globals } from './platform.ts';

/** What a browser does with the page. Outside a browser, nothing happens. */
export interface PageListeners {
  /** The network is back, or the page is visible again. */
  onWake(): void;
  /** The page is frozen, or goes to the back/forward cache. Browsers keep no page with an open connection there. */
  onSuspend(): void;
  onResume(): void;
}

/** Listens to the page. @returns a function that stops it */
export function observePage({ onWake, onSuspend, onResume }: PageListeners): () => void {
  const { document } = globals;
  if (document === undefined) return () => undefined;
  const stopping = new AbortController();
  const options = { signal: stopping.signal };
  const listen = (type: string, listener: () => void) => globals.addEventListener?.(type, listener, options);
  listen('online', onWake);
  listen('pagehide', onSuspend);
  listen('pageshow', onResume);
  document.addEventListener('freeze', onSuspend, options);
  document.addEventListener('resume', onResume, options);
  const onVisibilityChange = () => {
    if (document.visibilityState === 'visible') onWake();
  };
  document.addEventListener('visibilitychange', onVisibilityChange, options);
  return () => stopping.abort();
}
