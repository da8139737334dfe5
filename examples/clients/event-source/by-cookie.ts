import { type Follower, followPosts, POST_CHANGES, Refused } from './follow-posts.ts';

/** The subscription stands in the address. The browser adds the session cookie. */
async function findAddress(origin: string): Promise<URL> {
  const response = await fetch(`${origin}/login`, { credentials: 'include' });
  const { user } = (await response.json()) as { user?: { id: string } | null };
  if (user === null) throw new Refused('Nobody is logged in.');
  return new URL(`${origin}/graphql?${new URLSearchParams({ query: POST_CHANGES })}`);
}

/** `origin` is that of the service, such as `https://api.example.com`. */
export function followPostsByCookie(origin: string, follower: Follower): () => void {
  return followPosts(() => findAddress(origin), follower);
}
