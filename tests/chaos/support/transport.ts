import { MultipartParser } from '../../support/streams/multipart-parser.ts';

/** What came on a stream. */
export interface Arrival {
  /** The position to go on from, if it says one. */
  readonly id?: string | undefined;
  /** The response to an event, as JSON. */
  readonly response?: string | undefined;
  /** What no stream may say here: that it is complete, or a response without a position. */
  readonly complaint?: string | undefined;
}

/** How a subscriber gets its events. */
export interface Transport {
  readonly name: string;
  readonly accept: string;
  /** Whether a stream token opens it, instead of a key. */
  readonly byToken: boolean;
  /** The header with the position at which a stream opens, where there is one. */
  readonly idHeader: string | undefined;
  /** Reads one stream: takes its text piece by piece. Throws where that is framed wrongly. */
  reader(): (text: string) => readonly Arrival[];
}

function field(block: string, name: string): string | undefined {
  const line = block.split('\n').find((text) => text.startsWith(`${name}:`));
  return line?.slice(name.length + 1).trimStart();
}

function arrivalIn(block: string): Arrival {
  const event = field(block, 'event');
  const id = field(block, 'id');
  if (event === undefined) return { id };
  if (event !== 'next' || id === undefined) return { id, complaint: block };
  return { id, response: field(block, 'data') };
}

const SSE: Transport = {
  name: 'Server-Sent Events',
  accept: 'text/event-stream',
  byToken: false,
  idHeader: undefined,
  reader() {
    let rest = '';
    return (text) => {
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop() ?? '';
      return blocks.map(arrivalIn);
    };
  },
};

const PAYLOAD = '{"payload":';

const MULTIPART: Transport = {
  name: 'multipart',
  accept: 'multipart/mixed;subscriptionSpec=1.0',
  byToken: false,
  idHeader: 'x-event-id',
  reader() {
    const parser = new MultipartParser();
    return (text) => {
      const arrivals = parser.take(text).map(({ json, payload }): Arrival => {
        if (payload === undefined) return {};
        const id: string | undefined = payload.extensions?.eventId;
        if (id === undefined) return { complaint: json };
        return { id, response: json.slice(PAYLOAD.length, -1) };
      });
      return parser.closed ? [...arrivals, { complaint: 'the closing delimiter' }] : arrivals;
    };
  },
};

const BY_TOKEN: Transport = { ...SSE, name: 'Server-Sent Events by stream token', byToken: true };

const TRANSPORTS: readonly Transport[] = [SSE, MULTIPART, BY_TOKEN];

/** The transport of a client, by its number. */
export function transportOf(index: number): Transport {
  return TRANSPORTS[index % TRANSPORTS.length] ?? SSE;
}
