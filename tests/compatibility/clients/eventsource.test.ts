import { EventSource } from 'eventsource';
import { expect, onTestFinished } from 'vitest';
import { CREATED, describeClient, type Endpoint, type PostEvent } from '../support/client-row.ts';
import { worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const openSource = ({ url, headers: { authorization } }: Endpoint, query: string) =>
  new EventSource(`${url}?${new URLSearchParams({ query })}`, {
    fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, authorization } }),
  });

const row = describeClient({
  name: 'eventsource',
  version: packageVersion('eventsource'),
  checks: {
    subscription: worksWith(
      'the subscription as `query` in the URL, and a `fetch` that sends `Authorization`, or a stream token',
    ),
  },
  createDriver(endpoint) {
    return {
      followPosts(onTitle) {
        const source = openSource(endpoint, CREATED);
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

row.it('shows why a subscription is invalid, and stops', async () => {
  const source = openSource(row.endpoint(), 'subscription { unknown }');
  onTestFinished(() => source.close());
  const codes: string[] = [];
  source.addEventListener('next', ({ data }) => codes.push(JSON.parse(data).errors[0].extensions.code));
  await expect.poll(() => source.readyState).toBe(source.CLOSED);
  expect(codes).toEqual(['GRAPHQL_VALIDATION_FAILED']);
});
