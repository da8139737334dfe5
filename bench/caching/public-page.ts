import { PRODUCT, type Running, startContestant } from '../contestants.ts';
import { productionSettings } from '../data/service-data.ts';
import type { Workspace } from '../data/workspace.ts';
import { idOf, publishTexts } from '../documents/published.ts';
import { getRequest } from '../harness/connection.ts';
import { closedLoop, median, once, openLoop } from '../harness/load.ts';
import { beforeOthers } from '../harness/priority.ts';
import { figure, spread, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { LIST, OF_CHROMIUM } from './again.ts';
import { HOST, startNginx } from './nginx.ts';

export const PER_SECOND = 1_000;
export const FRESH_SECONDS = 5;
const METRICS = getRequest('/metrics', {});
const SETTINGS = {
  ...productionSettings(),
  ANONYMOUS_READ: 'true',
  TRUST_PROXY: '127.0.0.1',
  RATE_LIMIT_BURST: '1000000',
  RATE_LIMIT_PER_SECOND: '1000000',
};

export interface PageOptions {
  readonly rounds: number;
  readonly connections: number;
  readonly requests: number;
  readonly durationMs: number;
}

/** Two instances with nginx before them. */
interface Front {
  readonly publicSeconds: number;
  readonly port: number;
  readonly instances: readonly Running[];
  readonly rounds: Round[];
}

interface Round {
  readonly asked: number;
  /** How many of them the instances have answered. */
  readonly reached: number;
  /** CPU of both instances, for a request that was asked. */
  readonly cpuMs: number;
  readonly p50Ms: number;
  readonly perSecond: number;
}

async function openFront(
  cleanup: AsyncDisposableStack,
  workspace: Workspace,
  publicSeconds: number,
): Promise<Front> {
  const settings = { ...SETTINGS, PUBLIC_CACHE_SECONDS: String(publicSeconds) };
  const instances = [
    await startContestant(cleanup, workspace, PRODUCT, { settings }),
    await startContestant(cleanup, workspace, PRODUCT, { settings }),
  ];
  const port = await startNginx(
    cleanup,
    instances.map(({ server }) => server.port),
  );
  return { publicSeconds, port, instances, rounds: [] };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** What the instances have answered on /graphql so far, as their metrics tell, and their CPU time. */
async function soFar({ instances }: Front) {
  const each = await Promise.all(
    instances.map(async ({ server }) => {
      const { text } = await once(server.port, METRICS);
      const counts = [...text.matchAll(/^http_requests_total\{[^}]*path="\/graphql"[^}]*\} (\d+)/gm)];
      return { answered: sum(counts.map(([, count]) => Number(count))), ...(await server.usage()) };
    }),
  );
  return { answered: sum(each.map(({ answered }) => answered)), cpuMs: sum(each.map(({ cpuMs }) => cpuMs)) };
}

/** A page that anybody may read, through nginx: with answers that it may keep, and with none. */
export async function readPublicPage(
  cleanup: AsyncDisposableStack,
  workspace: Workspace,
  { rounds, connections, requests: count, durationMs }: PageOptions,
): Promise<string> {
  await publishTexts(workspace.urlFor('admin'), [LIST]);
  const requests = [getRequest(`/graphql?documentId=${idOf(LIST)}`, { host: HOST, ...OF_CHROMIUM })];
  const kept = await openFront(cleanup, workspace, FRESH_SECONDS);
  const passed = await openFront(cleanup, workspace, 0);

  async function roundOf(front: Front): Promise<Round> {
    const load = { port: front.port, requests, connections };
    const before = await soFar(front);
    const { count: asked, p50Ms } = await beforeOthers(() =>
      openLoop({ ...load, perSecond: PER_SECOND, durationMs: (count / PER_SECOND) * 1_000 }),
    );
    const after = await soFar(front);
    const { perSecond } = await closedLoop({ ...load, durationMs });
    const cpuMs = (after.cpuMs - before.cpuMs) / asked;
    return { asked, reached: after.answered - before.answered, cpuMs, p50Ms, perSecond };
  }

  for (let round = 0; round <= rounds; round += 1) {
    progress(`the public page: round ${round} of ${rounds}`);
    for (const front of round % 2 === 0 ? [kept, passed] : [passed, kept]) {
      const measured = await roundOf(front);
      // The first is for the compiler.
      if (round > 0) front.rounds.push(measured);
    }
  }

  const rows = [kept, passed].map((front) => {
    const all = (name: keyof Round) => front.rounds.map((round) => round[name]);
    const [asked, reached] = [sum(all('asked')), sum(all('reached'))];
    const more = front.rounds.map(
      ({ perSecond }, round) => perSecond / (passed.rounds[round]?.perSecond ?? Number.NaN),
    );
    return [
      String(front.publicSeconds),
      `${reached.toLocaleString('en')} of ${asked.toLocaleString('en')}`,
      figure((reached / asked) * 1_000),
      figure(median(all('cpuMs')) * 1_000),
      figure(median(all('p50Ms'))),
      figure(median(all('perSecond'))),
      front === passed ? '1' : spread(more),
    ];
  });
  return table(
    [
      '`PUBLIC_CACHE_SECONDS`',
      'requests that reach the service',
      'per 1,000',
      'Node CPU, ms per 1,000',
      'p50, ms',
      'at most, a second',
      '÷ without the cache',
    ],
    rows,
  );
}
