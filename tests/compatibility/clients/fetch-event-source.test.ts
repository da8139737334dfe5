import { fetchEventSource } from '@microsoft/fetch-event-source';
import { CREATED, describeClient, type PostEvent } from '../support/client-row.ts';
import { worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

// The library is for pages: it takes its timers from the window, and asks whether the page is visible.
Object.assign(globalThis, { window: globalThis, document: new EventTarget() });

describeClient({
  name: '@microsoft/fetch-event-source',
  version: packageVersion('@microsoft/fetch-event-source'),
  checks: {
    subscription: worksWith(
      'an `onclose` that throws, so that the library reconnects after an instance stops',
    ),
  },
  createDriver({ url, headers }) {
    return {
      followPosts(onTitle) {
        const stopped = new AbortController();
        void fetchEventSource(url, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify({ query: CREATED }),
          signal: stopped.signal,
          // A page need not be visible here.
          openWhenHidden: true,
          onmessage({ event, data }) {
            if (event !== 'next') return;
            const { data: result }: { readonly data: PostEvent } = JSON.parse(data);
            onTitle(result.postCreated.title);
          },
          onclose() {
            throw new Error('the stream has ended without "complete"');
          },
        }).catch((error: unknown) => onTitle(`error: ${error}`));
        return () => stopped.abort();
      },
    };
  },
});
