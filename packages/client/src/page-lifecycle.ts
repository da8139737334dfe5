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
  const onVisibilityChange = () => {
    if (document.visibilityState === 'visible') onWake();
  };
  const removers: (() => void)[] = [];
  const listen = (target: Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>>) => {
    return (type: string, listener: () => void) => {
      target.addEventListener?.(type, listener);
      removers.push(() => target.removeEventListener?.(type, listener));
    };
  };
  const onDocument = listen({
    addEventListener: document.addEventListener.bind(document),
    removeEventListener: document.removeEventListener.bind(document),
  });
  const onWindow = listen({
    ...(globals.addEventListener && { addEventListener: globals.addEventListener.bind(globals) }),
    ...(globals.removeEventListener && { removeEventListener: globals.removeEventListener.bind(globals) }),
  });
  onWindow('online', onWake);
  onWindow('pagehide', onSuspend);
  onWindow('pageshow', onResume);
  onDocument('freeze', onSuspend);
  onDocument('resume', onResume);
  onDocument('visibilitychange', onVisibilityChange);
  return () => {
    for (const remove of removers) remove();
  };
}
