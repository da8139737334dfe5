import { EventSource } from 'eventsource';
import { onTestFinished } from 'vitest';

/** What a page has in a browser and Node lacks: an `EventSource`, and a session cookie that goes with requests. */
export function provideBrowserGlobals(cookie: string): void {
  const { fetch, EventSource: before } = globalThis;
  globalThis.fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (init?.credentials === 'include') headers.set('cookie', cookie);
    return fetch(input, { ...init, headers });
  };
  globalThis.EventSource = class extends EventSource {
    constructor(url: string | URL, init: EventSourceInit = {}) {
      const credentials = init.withCredentials ? 'include' : 'same-origin';
      super(url, { ...init, fetch: (input, given) => globalThis.fetch(input, { ...given, credentials }) });
    }
  };
  onTestFinished(() => void Object.assign(globalThis, { fetch, EventSource: before }));
}
