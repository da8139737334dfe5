import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Contestant,
  PRODUCT,
  type Running,
  type StartOptions,
  startContestant,
} from '../contestants.ts';
import type { Workspace } from '../data/workspace.ts';
import { postRequest } from '../harness/connection.ts';
import { type Crowd, startCrowd } from './crowd.ts';
import { frameOf } from './frame.ts';
import { keysOfAccounts } from './keys.ts';
import { directSender, emitSender, postSender, type Sender } from './sender.ts';

/** What subscribers ask for. */
export type Selection = (typeof SELECTIONS)[number];
export const SELECTIONS = ['{ id title }', '{ id title author { name } }'] as const;

export const FEW = 1_000;
export const ACCOUNTS = 1_000;

/** What all parts share. */
export interface Scene {
  readonly workspace: Workspace;
  readonly quick: boolean;
  /** The service, for parts that need none of their own: what has run for a while is compiled. */
  readonly service: Running;
  /** How many subscribers there are at most. */
  readonly many: number;
  readonly crowd: Crowd;
  /** An event of the service for each selection. */
  readonly frames: Readonly<Record<Selection, string>>;
  /** A key of each of many accounts. */
  readonly keys: readonly string[];
}

export const BARE: Contestant = {
  name: 'bare',
  dialect: 'floor',
  file: 'bare.ts',
  note: 'node:http, and for each event a loop that calls `response.write(text)`; no GraphQL, database, accounts, heartbeats or limits',
};
export const PRE_FRAMED: Contestant = {
  ...BARE,
  name: 'pre-framed',
  args: ['--pre-framed'],
  note: 'the same with the bytes of an HTTP chunk, made once an event, written to the socket',
};
export const ALONE: Contestant = {
  ...PRODUCT,
  name: 'product, sharing off',
  args: ['--alone'],
  note: 'the same, with every subscriber’s event executed by itself',
};

/** The greatest that the service takes: it is not what stops anybody here. */
const SETTINGS = {
  MAX_STREAMS_PER_CLIENT: '100000',
  RATE_LIMIT_BURST: '1000000',
  RATE_LIMIT_PER_SECOND: '1000000',
};
/** What a process has open besides its subscribers. */
const OTHER_DESCRIPTORS = 200;
const WARM_UP_EVENTS = 10;
const SETTLE_MS = 300;

/** As many of what is wanted as two processes may have connections, each of them one end. */
export function mostSubscribers(wanted: readonly number[]): number {
  const limit = Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
  const most = wanted.find((subscribers) => limit >= subscribers + OTHER_DESCRIPTORS);
  if (most !== undefined) return most;
  throw new Error(`a process may open ${limit} files: too few for ${wanted.at(-1)} subscribers (ulimit -n)`);
}

export function start(
  cleanup: AsyncDisposableStack,
  { workspace }: Pick<Scene, 'workspace'>,
  contestant: Contestant,
  nodeArgs: StartOptions['nodeArgs'] = [],
): Promise<Running> {
  const ofService = contestant.file === PRODUCT.file;
  return startContestant(cleanup, workspace, contestant, {
    nodeArgs,
    ...(ofService ? { args: ['--count'], settings: SETTINGS } : {}),
  });
}

export const subscription = (selection: string) => `subscription { postCreated ${selection} }`;

/** Subscribers with these selections and keys, in turn. */
export function requestsFor(selections: readonly string[], keys: readonly string[]): Buffer[] {
  return Array.from({ length: Math.max(selections.length, keys.length) }, (_, index) =>
    postRequest(
      '/graphql',
      { query: subscription(selections[index % selections.length] ?? '') },
      { accept: 'text/event-stream', authorization: `Bearer ${keys[index % keys.length]}` },
    ),
  );
}

export interface GatherOptions {
  readonly running: Running;
  readonly subscribers: number;
  readonly selections: readonly string[];
  readonly keys?: readonly string[];
  readonly sender: Sender;
}

/** Does something while subscribers are connected that have received some events. */
export async function gather<T>(
  { crowd, workspace }: Scene,
  { running, subscribers, selections, keys = workspace.keys, sender }: GatherOptions,
  work: () => Promise<T>,
): Promise<T> {
  try {
    await crowd.expect(subscribers, WARM_UP_EVENTS);
    await crowd.connect({
      port: running.server.port,
      subscribers,
      requests: requestsFor(selections, keys.slice(0, subscribers)),
    });
    for (let event = 0; event < WARM_UP_EVENTS; event += 1) await sender.one();
    await crowd.received();
    const result = await work();
    await crowd.disconnect();
    await delay(SETTLE_MS);
    return result;
  } finally {
    sender.close();
  }
}

/** Sends one event after another as clients of the contestant would. */
export function senderOf(
  { workspace, frames }: Scene,
  { contestant, server: { port } }: Running,
  selection: Selection,
  together = false,
): Promise<Sender> {
  if (contestant.file !== PRODUCT.file) return emitSender(port, frames[selection], together);
  return postSender({ ...workspace, port, key: workspace.keys[0] ?? '' });
}

async function framesOf(workspace: Workspace, { server }: Running): Promise<Scene['frames']> {
  const { one } = directSender(workspace);
  const frame = (selection: Selection) =>
    frameOf(server.port, requestsFor([selection], workspace.keys)[0] as Buffer, one);
  return { [SELECTIONS[0]]: await frame(SELECTIONS[0]), [SELECTIONS[1]]: await frame(SELECTIONS[1]) };
}

export async function openScene(
  cleanup: AsyncDisposableStack,
  { workspace, quick, many }: Pick<Scene, 'workspace' | 'quick' | 'many'>,
): Promise<Scene> {
  const service = await start(cleanup, { workspace }, PRODUCT);
  return {
    workspace,
    quick,
    many,
    service,
    crowd: await startCrowd(cleanup),
    frames: await framesOf(workspace, service),
    keys: await keysOfAccounts(workspace.admin, ACCOUNTS),
  };
}
