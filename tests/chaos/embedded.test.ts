import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/processes/process.ts';
import { demoKey } from '../support/processes/server.ts';
import { createInstance } from './support/instance.ts';
import { type ChaosReport, runChaos } from './support/run.ts';

interface PageResponse {
  readonly data: {
    readonly page: {
      readonly nodes: readonly { readonly title: string }[];
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
    };
  };
}

/** All titles, newest first, a page at a time. */
async function readTitles(origin: string, key: string): Promise<string[]> {
  const titles: string[] = [];
  for (let after: string | null = null; ; ) {
    const response: Response = await fetch(`${origin}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({
        query:
          'query ($after: String) { page: postsConnection(first: 100, after: $after) { nodes { title } pageInfo { hasNextPage endCursor } } }',
        variables: { after },
      }),
    });
    const { data } = (await response.json()) as PageResponse;
    titles.push(...data.page.nodes.map(({ title }) => title));
    if (!data.page.pageInfo.hasNextPage) return titles;
    after = data.page.pageInfo.endCursor;
  }
}

async function runEmbedded(size: {
  posts: number;
  clients: number;
  postsAKill: number;
}): Promise<ChaosReport> {
  const dataDir = await temporaryFolder();
  const instance = await createInstance({ DATA_DIR: dataDir });
  // The first start makes the database and the key.
  await instance.start();
  await instance.restart();
  const key = await demoKey(dataDir);
  const report = await runChaos({
    instances: [{ ...instance, start: async () => undefined }],
    key,
    label: 'embedded database',
    writers: 6,
    ...size,
    readStored: () => readTitles(instance.origin, key),
  });
  process.stdout.write(`embedded database: ${JSON.stringify(report.figures)}\n`);
  return report;
}

describe('an instance on the embedded database', () => {
  it('gives each client exactly the posts committed since it connected, in one order, though it is killed', async () => {
    const { problems } = await runEmbedded({ posts: 500, clients: 10, postsAKill: 100 });
    expect(problems).toEqual([]);
  });
});
