import { ORIGIN, type TestApp } from './app.ts';
import { type GraphqlError, graphqlPost } from './graphql.ts';
import type { Parsed } from './parsed.ts';
import { readEventStream } from './streams/event-stream.ts';

export interface Asked {
  readonly key: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly operationName?: string;
  /** Further header fields. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A response, however it came. */
export interface Told {
  readonly status: number;
  /** The JSON as it came: the body, or the data of the one event. */
  readonly text: string;
  readonly data: Parsed;
  readonly errors: readonly GraphqlError[] | undefined;
  readonly codes: readonly string[];
  readonly extensions: Parsed;
}

/** One of the ways in which an operation reaches the service. */
export interface Way {
  readonly name: string;
  readonly takesMutations: boolean;
  /** The status with which limits reject a document. */
  readonly limitStatus: 200 | 400;
  ask(app: Pick<TestApp, 'fetch'>, asked: Asked): Promise<Told>;
}

function told(status: number, text: string): Told {
  const { data, errors, extensions } = JSON.parse(text) as Told;
  const codes = (errors ?? []).map((error) => error.extensions.code);
  return { status, text, data, errors, codes, extensions };
}

const posted = (asked: Asked, headers: Readonly<Record<string, string>> = {}) =>
  graphqlPost(asked.query, { ...asked, headers: { ...headers, ...asked.headers } });

function address({ query, variables, operationName }: Asked): string {
  const parameters = new URLSearchParams({ query });
  if (variables !== undefined) parameters.set('variables', JSON.stringify(variables));
  if (operationName !== undefined) parameters.set('operationName', operationName);
  return `/graphql?${parameters}`;
}

const fields = ({ key, headers }: Asked) => ({ authorization: `Bearer ${key}`, ...headers });

/** What an event stream of one result holds; what was rejected before it opened is JSON. */
async function streamed(response: Response): Promise<Told> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return told(response.status, await response.text());
  const stream = readEventStream(response);
  const next = await stream.event();
  const complete = await stream.event();
  if (next?.event !== 'next' || complete?.event !== 'complete')
    throw new Error(`expected "next" and "complete", got ${next?.raw} and ${complete?.raw}`);
  return told(response.status, next.data ?? '');
}

const STREAM = { accept: 'text/event-stream' };

/** POST from a program and from a page, GET, and Server-Sent Events over both. */
export const WAYS: readonly Way[] = [
  {
    name: 'POST',
    takesMutations: true,
    limitStatus: 400,
    async ask({ fetch }, asked) {
      const response = await fetch('/graphql', posted(asked));
      return told(response.status, await response.text());
    },
  },
  {
    name: 'POST from a browser page',
    takesMutations: true,
    limitStatus: 400,
    async ask({ fetch }, asked) {
      const response = await fetch('/graphql', posted(asked, { origin: ORIGIN }));
      return told(response.status, await response.text());
    },
  },
  {
    name: 'GET',
    takesMutations: false,
    limitStatus: 400,
    async ask({ fetch }, asked) {
      const headers = { accept: 'application/json', ...fields(asked) };
      const response = await fetch(address(asked), { headers });
      return told(response.status, await response.text());
    },
  },
  {
    name: 'SSE over POST',
    takesMutations: true,
    limitStatus: 200,
    async ask({ fetch }, asked) {
      return streamed(await fetch('/graphql', posted(asked, STREAM)));
    },
  },
  {
    name: 'SSE over GET',
    takesMutations: false,
    limitStatus: 200,
    async ask({ fetch }, asked) {
      return streamed(await fetch(address(asked), { headers: { ...STREAM, ...fields(asked) } }));
    },
  },
];

export const WRITING_WAYS: readonly Way[] = WAYS.filter(({ takesMutations }) => takesMutations);

/**
 * The items that one way gets where each of them goes one way: what goes by all ways is little and stands beside it,
 * and the fuzzer mixes the two.
 */
export function partOf<T>(items: readonly T[], way: Way, ways: readonly Way[] = WAYS): T[] {
  return items.filter((_, index) => index % ways.length === ways.indexOf(way));
}
