import { expect } from 'vitest';
import type { ServerProcess } from './server.ts';

/** Writes posts, one after the other. */
export async function createPosts(
  server: ServerProcess,
  key: string,
  titles: readonly string[],
): Promise<void> {
  for (const title of titles) {
    const { errors } = await server.gql(
      'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }',
      { key, variables: { title } },
    );
    expect(errors).toBeUndefined();
  }
}

/** Waits until so many streams are open: the server notices the end of a stream only when it writes to it again. */
export async function expectOpenStreams({ origin }: ServerProcess, count: number): Promise<void> {
  const open = async () => {
    const text = await (await fetch(`${origin}/metrics`)).text();
    return Number(/^content_graph_event_streams_open (\d+)$/m.exec(text)?.[1]);
  };
  await expect.poll(open).toBe(count);
}
