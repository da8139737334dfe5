import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createExampleHandler, EXAMPLE } from '../../../src/features/development/example.ts';
import { admittedRequest } from '../../support/admitted-request.ts';

it('an example that is not built is a page that says how to build it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-example-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const missing of [folder, join(folder, 'missing')]) {
    const url = new URL(EXAMPLE, 'http://localhost');
    const response = await createExampleHandler(missing)(new Request(url), admittedRequest(), url);
    if (response === undefined) throw new Error('there is no response');
    expect(response.status).toBe(200);
    expect(await response.toResponse().text()).toContain('npm run example:build');
  }
});
