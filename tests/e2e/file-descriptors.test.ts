import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isOutage, toDatabaseError } from '../../src/database/errors.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { type Process, ROOT, runProgram, until } from '../support/processes/process.ts';
import { productionSettings } from '../support/processes/server.ts';

const START = `exec ${join(ROOT, 'node_modules/.bin/node')} ${join(ROOT, 'src/main.ts')}`;
const LIMIT = 300;
/** More than there are descriptors. */
const CONNECTIONS = 400;
const WARNING = /"event":"service\.file_limit_low",[^\n]*"limit":300,"recommended":\d+,/;

async function startLimited(): Promise<{ service: Process; origin: URL }> {
  const settings = { ...productionSettings(), DATA_DIR: await migratedFolder(), PORT: '0' };
  const service = runProgram(['/bin/sh', '-c', `ulimit -n ${LIMIT}; ${START}`], settings);
  await service.printed(WARNING);
  const [, origin = ''] = await service.printed(/"url":"(http:[^"]+)"/);
  return { service, origin: new URL(origin) };
}

/** Opens connections on which nothing is sent. */
function hold({ hostname, port }: URL, count: number) {
  let closed = 0;
  const sockets = Array.from({ length: count }, () =>
    connect(Number(port), hostname)
      // The service has closed it before it was there.
      .on('error', () => undefined)
      .on('close', () => {
        closed += 1;
      }),
  );
  const release = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(release);
  return {
    get closed() {
      return closed;
    },
    release,
  };
}

/** A client with one connection, which it keeps. */
function oneConnection(origin: URL) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return (path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(new URL(path, origin), { agent }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode));
      }).once('error', reject);
    });
}

describe('A limit of open files', () => {
  it('that is too low for the database and ordinary clients is told at start', async () => {
    const { service } = await startLimited();
    service.kill('SIGTERM');
    expect((await service.exited).code).toBe(0);
  });

  it('turns away the connections for which there are no descriptors, and nobody else', async () => {
    const beganMs = performance.now();
    const { service, origin } = await startLimited();
    const rejections = () => service.stdout.match(/"event":"http\.connection_rejected"/g)?.length ?? 0;
    const connected = oneConnection(origin);
    expect(await connected('/health/ready')).toBe(200);
    const held = hold(origin, CONNECTIONS);
    // So many stay for clients, whatever the limit is.
    await until('the refusals', () => held.closed >= CONNECTIONS - 16);
    await service.printed(/"level":40,[^\n]*"event":"http\.connection_rejected",[^\n]*"limit":16,/);
    // The database needs files, which may not be open yet.
    expect(await connected('/graphql?query={__typename}')).toBe(401);
    expect(await connected('/health/ready')).toBe(200);
    held.release();
    const others = () => oneConnection(origin)('/health/live').catch(() => undefined);
    await until('others', async () => (await others()) === 200);
    service.kill('SIGTERM');
    const { code, stdout } = await service.exited;
    expect(code).toBe(0);
    // Ten lines in each minute that the service has run in.
    const minutes = Math.ceil((performance.now() - beganMs) / 60_000) + 1;
    expect(rejections()).toBeLessThanOrEqual(10 * minutes);
    const counts = stdout.matchAll(/"subject":"http\.connection_rejected","suppressedCount":(\d+)/g);
    const suppressed = [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    // Who has sent nothing for 10 s makes room: then not all others are rejected.
    expect(rejections() + suppressed).toBeGreaterThan(CONNECTIONS / 2);
  });

  it.each(['EMFILE', 'ENFILE'])('that is reached (%s) makes the database unavailable: 503', (code) => {
    const error = toDatabaseError(Object.assign(new Error('too many open files'), { code }));
    expect(error.kind).toBe('unavailable');
    expect(isOutage(error)).toBe(true);
  });
});
