import { type Follower, followPosts, POST_CHANGES, Refused } from './follow-posts.ts';

/** Exchanges the caller's credentials for a stream token, and puts it in the address. */
async function findAddress(endpoint: string, headers: Readonly<Record<string, string>>): Promise<URL> {
  const response = await fetch(`${endpoint}/stream-token`, {
    method: 'POST',
    credentials: 'include',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ query: POST_CHANGES }),
  });
  const { status } = response;
  if (status === 401 || status === 403) throw new Refused(`No stream token: status ${status}.`);
  if (!response.ok) throw new Error(`No stream token for now: status ${status}.`);
  const { token } = (await response.json()) as { token: string };
  return new URL(`${endpoint}?${new URLSearchParams({ stream_token: token })}`);
}

/** `endpoint` is the absolute address of `/graphql`. The headers authenticate; with a session, none are needed. */
export function followPostsByToken(
  endpoint: string,
  headers: Readonly<Record<string, string>>,
  follower: Follower,
): () => void {
  return followPosts(() => findAddress(endpoint, headers), follower);
}
