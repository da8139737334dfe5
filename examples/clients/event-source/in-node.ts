import { EventSource } from 'eventsource';

/** Gives Node the `EventSource` that browsers have. `fetcher` may add headers, such as a cookie. */
export function provideEventSource(fetcher: typeof fetch = fetch): void {
  globalThis.EventSource = class extends EventSource {
    constructor(url: string | URL, init: EventSourceInit = {}) {
      const credentials = init.withCredentials ? 'include' : 'same-origin';
      super(url, { ...init, fetch: (input, given) => fetcher(input, { ...given, credentials }) });
    }
  };
}
