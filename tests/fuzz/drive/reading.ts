import type { Reply } from './client.ts';

/** An error as the service tells it. */
export interface ToldError {
  readonly code: string;
  readonly path: readonly (string | number)[] | undefined;
  readonly argument: string | undefined;
}

/** What a response says, however it came. */
export interface Reading {
  /** The JSON as it came: the body, or the data of the one event. */
  readonly json: string;
  /** Undefined where there is no such entry. */
  readonly data: unknown;
  readonly errors: readonly ToldError[];
  readonly cost: unknown;
}

interface Body {
  readonly data?: unknown;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: ToldError['path'];
    readonly extensions: { readonly code: string; readonly argument?: string };
  }[];
  readonly extensions?: { readonly cost?: unknown };
}

export const isStream = ({ headers }: Reply) =>
  headers['content-type']?.startsWith('text/event-stream') === true;

/** An event stream of one result: an opening block, the result, the end. Throws for any other. */
function onlyResult(text: string): string {
  const found = /^retry: \d+\n\nevent: next\ndata: ([^\r\n]*)\n\nevent: complete\ndata:\n\n$/.exec(text);
  if (found === null) throw new Error('the event stream is not an opening, one result and an end');
  return found[1] ?? '';
}

/** Reads a response. Throws where it is no answer of GraphQL, or its JSON is not compact on one line. */
export function read(reply: Reply): Reading {
  const json = isStream(reply) ? onlyResult(reply.text) : reply.text;
  const body: Body = JSON.parse(json);
  if (JSON.stringify(body) !== json) throw new Error('the JSON is not compact, or has a member twice');
  if (body.errors?.length === 0) throw new Error('the list of errors is empty');
  const errors = (body.errors ?? []).map(({ message, path, extensions: { code, argument } }) => {
    if (typeof message !== 'string' || message === '') throw new Error('an error has no message');
    return { code, path, argument };
  });
  return { json, data: body.data, errors, cost: body.extensions?.cost };
}
