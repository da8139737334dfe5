import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/cluster/processes.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { environment, ROOT, type Settings, until } from '../support/processes/process.ts';
import { productionSettings } from '../support/processes/server.ts';
import { AMPLE_TIMEOUTS } from '../support/settings.ts';

const TOKEN = 'a token that only the operator of this service knows';

/** The service, whose standard output is what `stdout` says; nobody reads it. */
async function launch(stdout: 'pipe' | number, settings: Settings = {}) {
  const port = await freePort();
  const child: ChildProcess = spawn(join(ROOT, 'node_modules/.bin/node'), [join(ROOT, 'src/main.ts')], {
    env: environment({
      ...AMPLE_TIMEOUTS,
      ...productionSettings(),
      DATA_DIR: await migratedFolder(),
      METRICS_TOKEN: TOKEN,
      HOST: '127.0.0.1',
      PORT: String(port),
      ...settings,
    }),
    stdio: ['ignore', stdout, 'pipe'],
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = once(child, 'exit');
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited;
  });
  const origin = `http://127.0.0.1:${port}`;
  const live = () =>
    fetch(`${origin}/health/live`).then(
      ({ status }) => status === 200,
      () => false,
    );
  await until('the service', live);
  return {
    child,
    origin,
    exited,
    live,
    get stderr() {
      return stderr;
    },
    /** Requests that are logged, with long names. */
    async log(count: number) {
      for (let sent = 0; sent < count; sent += 20)
        await Promise.all(
          Array.from({ length: 20 }, () =>
            fetch(`${origin}/${'path/'.repeat(60)}`).then((response) => response.text()),
          ),
        );
    },
    async metric(pattern: RegExp) {
      const response = await fetch(`${origin}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
      return Number(pattern.exec(await response.text())?.[1] ?? 0);
    },
  };
}

async function expectStops(service: Awaited<ReturnType<typeof launch>>): Promise<void> {
  service.child.kill('SIGTERM');
  expect(await service.exited).toEqual([0, null]);
}

describe('The service goes on and stops as ever', () => {
  it('while the disk behind its log is full: it says so on standard error, and in its metrics', async () => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const service = await launch(full);
    await service.log(200);
    await until(
      'the failures',
      async () =>
        (await service.metric(/^content_graph_log_write_failures_total\{code="ENOSPC"\} (\d+)/m)) > 0,
    );
    await until('the message', () =>
      service.stderr.includes('The log cannot be written to standard output: ENOSPC.'),
    );
    expect(await service.live()).toBe(true);
    await expectStops(service);
  });

  it('after the reader of its log has gone', async () => {
    const service = await launch('pipe');
    service.child.stdout?.destroy();
    await service.log(200);
    await until(
      'a dropped line',
      async () =>
        (await service.metric(/^content_graph_log_lines_dropped_total\{reason="closed"\} (\d+)/m)) > 0,
    );
    await until('the message', () =>
      service.stderr.includes('The log cannot be written to standard output: EPIPE.'),
    );
    await expectStops(service);
  });
});

describe('A second SIGTERM', () => {
  it('changes nothing of what the first has begun', async () => {
    // The first one takes so many seconds: more than it takes for the second to come.
    const service = await launch('pipe', { SHUTDOWN_DELAY_SECONDS: '20' });
    let said = '';
    service.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const lines = () => said.split('\n').filter((line) => line !== '');
    const isStopping = () =>
      fetch(`${service.origin}/health/ready`).then(
        ({ status }) => status === 503,
        () => false,
      );
    service.child.kill('SIGTERM');
    await until('the first', isStopping);
    service.child.kill('SIGTERM');
    expect(await service.exited).toEqual([0, null]);
    await until('the end of the log', () => service.child.stdout?.readableEnded);
    expect(lines().filter((line) => line.includes('"event":"service.stopping"'))).toHaveLength(1);
    expect(lines().filter((line) => line.includes('"event":"service.already_stopping"'))).toHaveLength(1);
    expect(lines().at(-1)).toContain('"event":"service.stopped"');
  });
});
