import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../packages/client/src/index.ts';
import { type LiveService, startService } from '../clients/live-service.ts';
import { until } from '../support/processes/process.ts';

const POST_CREATED = 'subscription { postCreated { title } }';
/** A long budget: only a service that does not come back fails the test. */
const retry = { mutationBudgetMs: 300_000, queryBudgetMs: 300_000 };

interface PostCreated {
  readonly postCreated: { readonly title: string };
}

function openClient({ url, headers }: LiveService) {
  const client = createClient({ url, headers, retry });
  onTestFinished(() => client.close());
  return client;
}

describe('A client of a service that is killed', () => {
  it('opens its stream although the service was down, and resumes in another process', async () => {
    const service = await startService();
    const { eventId } = await openClient(service).snapshot('{ posts(limit: 1) { title } }', {});
    await service.create('before');
    await service.end('SIGKILL');
    let position: string | undefined = eventId;
    const store = {
      load: () => position,
      save(id: string) {
        position = id;
      },
    };
    const stream = openClient(service).subscribe<PostCreated, object>(POST_CREATED, {}, { position: store });
    const first = stream.next();
    await until('the first failed attempt', () => stream.state.status === 'reconnecting');
    await service.start();
    expect((await first).value).toMatchObject({ data: { postCreated: { title: 'before' } } });
    const second = stream.next();
    await service.create('between');
    await second;
    // The process ends before it asks for the next event, so the second event is handled again.
    stream.close();
    const next = openClient(service).subscribe<PostCreated, object>(POST_CREATED, {}, { position: store });
    expect((await next.next()).value).toMatchObject({ data: { postCreated: { title: 'between' } } });
    await next.return();
  });
});
