import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { useExample } from '../../../src/http/routes/example.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { asResponse, type HttpResponse } from '../../../src/request/http-message.ts';
import { PendingResponses } from '../../../src/request/pending-responses.ts';
import { newRequestState } from '../../../src/request/request-state.ts';

it('an example that is not built is a page that says how to build it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-example-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const hold = new PendingResponses({ maxBytes: 1, maxReceivedBytes: 1 }, createMetrics()).hold();
  for (const missing of [folder, join(folder, 'missing')]) {
    const responses: HttpResponse[] = [];
    const url = new URL('http://localhost/example/');
    await useExample(missing).onRequest?.({
      request: new Request(url),
      url,
      state: newRequestState({ nowMs: 0, hold }),
      endResponse: (response) => responses.push(response),
    });
    const [response] = responses;
    if (response === undefined) throw new Error('there is no response');
    expect(response.status).toBe(200);
    expect(await asResponse(response).text()).toContain('npm run example');
  }
});
