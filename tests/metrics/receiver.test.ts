import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { ROOT, runProgram, temporaryFolder, until } from '../support/processes/process.ts';

it('an alert reaches the address that deploy/compose/secrets.sh was given, with its runbook', async () => {
  const told: string[] = [];
  const receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    told.push(Buffer.concat(chunks).toString());
    response.end();
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void receiver.close());
  const { port: receiverPort } = receiver.address() as AddressInfo;

  const folder = await temporaryFolder();
  cpSync(join(ROOT, 'deploy/compose'), join(folder, 'compose'), { recursive: true });
  const address = `http://127.0.0.1:${receiverPort}/hooks/operators`;
  const made = await runProgram([join(folder, 'compose/secrets.sh'), 'api.example.org', address], {}).exited;
  expect(made.code).toBe(0);
  const port = await freePort();
  const alertmanager = spawn(
    'prometheus-alertmanager',
    [
      `--config.file=${folder}/compose/secrets/alertmanager.yml`,
      `--storage.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  );
  const ended = once(alertmanager, 'exit');
  onTestFinished(async () => {
    alertmanager.kill('SIGKILL');
    await ended;
  });
  const origin = `http://127.0.0.1:${port}`;
  await until('Alertmanager', () =>
    fetch(`${origin}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  // As Prometheus sends it.
  const sent = await fetch(`${origin}/api/v2/alerts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([
      {
        labels: { alertname: 'ContentGraphDiskSpaceLow', instance: 'api-1', severity: 'critical' },
        annotations: { runbook: 'docs/operate/runbooks.md#contentgraphdiskspacelow' },
      },
    ]),
  });
  expect(sent.status).toBe(200);
  // It gathers for half a minute.
  await until('the alert', () => told.length > 0);
  expect(JSON.parse(told[0] ?? '')).toMatchObject({
    status: 'firing',
    alerts: [
      {
        labels: { alertname: 'ContentGraphDiskSpaceLow' },
        annotations: { runbook: 'docs/operate/runbooks.md#contentgraphdiskspacelow' },
      },
    ],
  });
});
