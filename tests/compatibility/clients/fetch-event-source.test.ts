import { fetchEventSource } from '@microsoft/fetch-event-source';
import { expect } from 'vitest';
import { CREATED, describeClient, type Endpoint, type PostEvent } from '../support/client-row.ts';
import { worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

// The library is for pages: it takes its timers from the window, and asks whether the page is visible.
Object.assign(globalThis, { window: globalThis, document: new EventTarget() });

const requestOf = ({ headers }: Endpoint, query: string) => ({
  method: 'POST',
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify({ query }),
  // A page need not be visible here.
  openWhenHidden: true,
});

const row = describeClient({
  name: '@microsoft/fetch-event-source',
  version: packageVersion('@microsoft/fetch-event-source'),
  checks: {
    subscription: worksWith('an `onclose` that throws, to reconnect after an instance stops'),
  },
  createDriver(endpoint) {
    return {
      followPosts(onTitle) {
        const stopped = new AbortController();
        void fetchEventSource(endpoint.url, {
          ...requestOf(endpoint, CREATED),
          signal: stopped.signal,
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

row.it('shows why a subscription is invalid', async () => {
  const endpoint = row.endpoint();
  const codes: string[] = [];
  await fetchEventSource(endpoint.url, {
    ...requestOf(endpoint, 'subscription { unknown }'),
    onmessage({ event, data }) {
      if (event === 'next') codes.push(JSON.parse(data).errors[0].extensions.code);
    },
    onerror(error) {
      throw error;
    },
  });
  expect(codes).toEqual(['GRAPHQL_VALIDATION_FAILED']);
});
