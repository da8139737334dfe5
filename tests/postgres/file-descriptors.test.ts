import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { platform } from 'node:os';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { type Process, until } from '../support/processes/process.ts';
import { launchServer, productionSettings } from '../support/processes/server.ts';
import { database, said } from '../support/processes/started.ts';

const CLIENTS = 10;
const PLENTY = 10_000;

/** Has a process open nothing more: its next descriptor would be the lowest number that is free. */
function limitToWhatIsOpen({ pid }: Process): void {
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let limit = 0;
  while (open.has(limit)) limit += 1;
  limitTo(pid, limit);
}

const limitTo = (pid: number, limit: number) =>
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:${PLENTY}`]);

it.runIf(platform() === 'linux')(
  'Without file descriptors for more connections to the database, requests wait for the open ones',
  async () => {
    const url = await database();
    const service = launchServer('', {
      ...productionSettings(),
      DATABASE_URL: url,
      ANONYMOUS_READ: 'true',
    });
    const { origin } = await said(service, 'listening');
    const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
    const holder = new pg.Client({ connectionString: url });
    onTestFinished(async () => {
      agent.destroy();
      await holder.end();
    });
    const ask = (path: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        get(new URL(path, origin), { agent }, (response) => {
          response.resume().once('end', () => resolve(response.statusCode));
        }).once('error', reject);
      });
    const posts = () => ask('/graphql?query={posts(limit:1){id}}');
    const asked = (path: string) => Promise.all(Array.from({ length: CLIENTS }, () => ask(path)));
    // The clients are connected, and what is opened once is open.
    expect(new Set(await asked('/health/live'))).toEqual(new Set([200]));
    expect(await posts()).toBe(200);

    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE posts IN ACCESS EXCLUSIVE MODE');
    limitToWhatIsOpen(service);
    const all = Array.from({ length: CLIENTS }, posts);
    await until('a connection that could not be opened', () => service.stdout.includes('EMFILE'));
    await holder.query('ROLLBACK');
    expect(new Set(await Promise.all(all))).toEqual(new Set([200]));
    limitTo(service.pid, PLENTY);
    await until('the database', async () => (await posts()) === 200);
    expect(await ask('/health/live')).toBe(200);
    service.kill('SIGTERM');
    expect((await service.exited).code).toBe(0);
  },
);
