/** Forty streams of the account, and what is told to them. */
import type { Socket } from 'node:net';
import { postRequest } from '../harness/connection.ts';
import { CREATE_30 } from './by-keys.ts';
import { ACCOUNT, bearer, byKeys, type Move, repeat, type Target } from './sending.ts';
import { connectFrom } from './wire.ts';

const STREAMS = 40;
/** Six of them a second are as much text as forty clients take in. */
const LARGE_BODY = 'b'.repeat(49_000);
const LARGE_PER_SECOND = 6;

const CREATE_30_LARGE = {
  query: `mutation ($b: String!) { ${repeat(30, (i) => `a${i}: createPost(title: "t", body: $b) { id }`)} }`,
  variables: { b: LARGE_BODY },
};

interface Subscribed {
  readonly selection: (index: number) => string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether what comes is read. */
  readonly reads?: boolean;
  readonly beside: Move;
}

function subscribe(
  target: Target,
  { selection, headers = {}, reads = true }: Subscribed,
  index: number,
): Socket {
  const { attacker, signal, note } = target;
  const request = postRequest(
    '/graphql',
    { query: `subscription { postCreated { ${selection(index)} } }` },
    { ...bearer(attacker.keys[index % attacker.keys.length]), ...headers, accept: 'text/event-stream' },
  );
  const socket = connectFrom(target, () => socket.write(request));
  const tell = (what: string) => {
    if (!signal.aborted) note(`stream ${what}`);
  };
  socket.once('data', (part: Buffer) => {
    tell(part.toString('latin1', 9, 12));
    if (reads) socket.resume();
    else socket.pause();
  });
  socket.on('error', () => undefined).on('close', () => tell('closed'));
  return socket;
}

const streams =
  (subscribed: Subscribed): Move =>
  async (target) => {
    const sockets = Array.from({ length: STREAMS }, (_, index) => subscribe(target, subscribed, index));
    await subscribed.beside(target);
    for (const socket of sockets) socket.destroy();
  };

const wide = (index: number) =>
  `title author { posts(limit: ${40 + (index % 29)}) { author { posts(limit: 69) { id } } } }`;
const body = (index: number) => `id body t${index}: title`;
const small = byKeys(() => ({ query: CREATE_30 }), { perSecond: ACCOUNT / STREAMS });
const large = byKeys(() => CREATE_30_LARGE, { perSecond: LARGE_PER_SECOND });

export const BY_STREAMS: Readonly<Record<string, Move>> = {
  'forty streams by a statement': streams({ selection: wide, beside: small }),
  'forty streams by resolvers': streams({
    selection: wide,
    headers: { 'x-show-cost': '1' },
    beside: small,
  }),
  'large posts to forty streams': streams({ selection: body, beside: large }),
  'large posts to forty streams that nobody reads': streams({ selection: body, reads: false, beside: large }),
};
