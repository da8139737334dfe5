import { EventSource } from 'eventsource';
import { CREATED, describeClient, type PostEvent } from '../support/client-row.ts';
import { worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

describeClient({
  name: 'eventsource',
  version: packageVersion('eventsource'),
  checks: {
    subscription: worksWith(
      'the subscription in the URL as `query`, and a `fetch` that sends `Authorization`, or a stream token in the URL',
    ),
  },
  createDriver({ url, headers: { authorization } }) {
    return {
      followPosts(onTitle) {
        const source = new EventSource(`${url}?${new URLSearchParams({ query: CREATED })}`, {
          fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization } }),
        });
        source.addEventListener('next', ({ data }) => {
          const event: { readonly data: PostEvent } = JSON.parse(data);
          onTitle(event.data.postCreated.title);
        });
        source.addEventListener('complete', () => onTitle('complete'));
        source.addEventListener('error', ({ message, code }) => {
          if (source.readyState === source.CLOSED) onTitle(`closed by ${code}: ${message}`);
        });
        return () => source.close();
      },
    };
  },
});
