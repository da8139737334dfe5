import { onTestFinished } from 'vitest';
import { provideEventSource } from '../../examples/clients/event-source/in-node.ts';

/** What a page has in a browser and Node has not: an `EventSource`, and a session cookie that goes with requests. */
export function provideBrowserGlobals(cookie: string): void {
  const { fetch, EventSource } = globalThis;
  globalThis.fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (init?.credentials === 'include') headers.set('cookie', cookie);
    return fetch(input, { ...init, headers });
  };
  provideEventSource();
  onTestFinished(() => void Object.assign(globalThis, { fetch, EventSource }));
}
