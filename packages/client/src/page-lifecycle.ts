import { globals } from './platform.ts';

/** What a browser does with the page. Outside a browser, nothing happens. */
export interface PageListeners {
  /** The network is back, or the page is visible again. */
  onWake(): void;
  /** The page is frozen, or goes to the back/forward cache. Browsers keep no page with an open connection there. */
  onSuspend(): void;
  onResume(): void;
}

type PageTarget = Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>;

/** Listens to the page. @returns a function that stops it */
export function observePage({ onWake, onSuspend, onResume }: PageListeners): () => void {
  const { document } = globals;
  if (document === undefined) return () => undefined;
  const removers: (() => void)[] = [];
  // Without `signal`: the documents of jsdom take only their own class of signals.
  const listen = (target: PageTarget, type: string, listener: () => void) => {
    target.addEventListener?.(type, listener);
    removers.push(() => target.removeEventListener?.(type, listener));
  };
  listen(globals, 'online', onWake);
  listen(globals, 'pagehide', onSuspend);
  listen(globals, 'pageshow', onResume);
  listen(document, 'freeze', onSuspend);
  listen(document, 'resume', onResume);
  listen(document, 'visibilitychange', () => {
    if (document.visibilityState === 'visible') onWake();
  });
  return () => {
    for (const remove of removers) remove();
  };
}
