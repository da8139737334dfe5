import type { Running } from '../contestants.ts';
import { getRequest, postRequest } from '../harness/connection.ts';
import { median, once } from '../harness/load.ts';
import { type Figures, measure, ratios } from '../harness/measure.ts';
import { figure, spread, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';

export const LIST = '{ posts(limit: 30) { id title createdAt author { id name } } }';
export const ANSWERS = {
  small: '{ posts(limit: 5) { id title } }',
  list: LIST,
  large: '{ posts(limit: 100) { id title body createdAt author { id name } } }',
} as const;
/** As Chromium 156 sends it, and as a client sends that takes no compression. */
export const OF_CHROMIUM = { 'accept-encoding': 'gzip, deflate, br, zstd' };
const CODINGS = [OF_CHROMIUM, {}] as const;

const KINDS = ['POST', 'GET', 'again'] as const;
type Kind = (typeof KINDS)[number];

export interface AgainOptions {
  readonly rounds: number;
  readonly connections: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
}

/** An answer in a coding, asked for in each way. */
interface Asked {
  readonly name: string;
  readonly coding: string;
  readonly requests: Readonly<Record<Kind, Buffer>>;
  /** What comes back, head and body. */
  readonly bytes: Readonly<Record<Kind, number>>;
  readonly rounds: Record<Kind, Figures[]>;
}

/** Each answer with and without compression, with the validator that it has. Throws unless it is 304 by that. */
async function ask({ server: { port }, workspace }: Running): Promise<Asked[]> {
  const authorization = `Bearer ${workspace.keys[0]}`;
  const asked: Asked[] = [];
  for (const [name, query] of Object.entries(ANSWERS))
    for (const accepted of CODINGS) {
      const headers = { authorization, ...accepted };
      const path = `/graphql?${new URLSearchParams({ query })}`;
      const POST = postRequest('/graphql', { query }, headers);
      const GET = getRequest(path, headers);
      const whole = (await once(port, GET)).received;
      const text = whole.toString('latin1');
      const [, tag = ''] = /^etag: (.+)\r$/im.exec(text) ?? [];
      const again = getRequest(path, { ...headers, 'if-none-match': tag });
      const short = await once(port, again);
      if (short.status !== 304) throw new Error(`${name} asked for again is answered with ${short.status}`);
      const [, coding = 'as it is'] = /^content-encoding: (.+)\r$/im.exec(text) ?? [];
      // What is never compressed is asked for once.
      if (accepted !== OF_CHROMIUM && asked.at(-1)?.coding === coding) continue;
      asked.push({
        name,
        coding,
        requests: { POST, GET, again },
        bytes: {
          POST: (await once(port, POST)).received.length,
          GET: whole.length,
          again: short.received.length,
        },
        rounds: { POST: [], GET: [], again: [] },
      });
    }
  return asked;
}

function checkNotModified(status: number): void {
  if (status !== 304) throw new Error(`answered with ${status} where nothing has changed`);
}

/** What is asked again unchanged, beside the whole answers over GET and over POST. A table of each. */
export async function askAgain(running: Running, { rounds, ...load }: AgainOptions): Promise<string[]> {
  const asked = await ask(running);
  for (let round = 0; round <= rounds; round += 1) {
    progress(`304 against 200: round ${round} of ${rounds}`);
    for (const { requests, rounds: measured } of asked)
      for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed()) {
        const figures = await measure(running.workspace, running, {
          ...load,
          requests: [requests[kind]],
          ...(kind === 'again' ? { check: checkNotModified } : {}),
        });
        // The first is for the compiler.
        if (round > 0) measured[kind].push(figures);
      }
  }

  const cpu = ({ rounds: measured }: Asked, kind: Kind) =>
    figure(median(measured[kind].map(({ nodeCpuMs }) => nodeCpuMs)));
  const ratio = (
    { rounds: measured }: Asked,
    kind: Kind,
    by: Kind,
    name: 'nodeCpuMs' | 'databaseCpuMs' = 'nodeCpuMs',
  ) => spread(measured[kind].map((own, round) => ratios(own, measured[by][round] as Figures)[name]));
  const again = asked.map((one) => [
    one.name,
    one.coding,
    one.bytes.GET.toLocaleString('en'),
    one.bytes.again.toLocaleString('en'),
    figure(one.bytes.again / one.bytes.GET),
    cpu(one, 'GET'),
    cpu(one, 'again'),
    ratio(one, 'again', 'GET'),
    ratio(one, 'again', 'GET', 'databaseCpuMs'),
  ]);
  const validator = asked.map((one) => [
    one.name,
    one.coding,
    cpu(one, 'POST'),
    cpu(one, 'GET'),
    ratio(one, 'GET', 'POST'),
  ]);
  return [
    table(
      [
        'answer',
        'coding',
        '200, bytes',
        '304, bytes',
        '304 ÷ 200',
        '200, Node CPU, ms',
        '304, Node CPU, ms',
        '304 ÷ 200',
        'database CPU, 304 ÷ 200',
      ],
      again,
    ),
    table(['answer', 'coding', 'POST, Node CPU, ms', 'GET, Node CPU, ms', 'GET ÷ POST'], validator),
  ];
}
