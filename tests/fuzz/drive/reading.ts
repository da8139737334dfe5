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

interface Entry {
  readonly message: string;
  readonly path?: ToldError['path'];
  readonly extensions: { readonly code: string; readonly argument?: string };
}

interface Body {
  readonly data?: unknown;
  readonly errors?: readonly Entry[];
  readonly extensions?: { readonly cost?: unknown };
}

export const isStream = ({ headers }: Reply) =>
  headers['content-type']?.startsWith('text/event-stream') === true;

/** An event stream of one result: an opening block, the result, the end. Throws for any other. */
function onlyResult(text: string): string {
  const found = /^retry: \d+\n\nevent: next\ndata: ([^\r\n]*)\n\nid: end\nevent: complete\ndata:\n\n$/.exec(
    text,
  );
  if (found === null) throw new Error('the event stream is not an opening, one result and an end');
  return found[1] ?? '';
}

/** The members of an error (GraphQL section 7.1.2). */
const MEMBERS = new Set(['message', 'locations', 'path', 'extensions']);

/** What would tell of the inside of a service: its stack and files, its SQL, its libraries. No generator writes such a text. */
const INTERNAL = [
  /\n\s+at \S/,
  /file:\/\/|node_modules|\/src\/|\.[cm]?[jt]s:\d/,
  /\bSELECT\b.*\bFROM\b|\bINSERT INTO\b|\bUPDATE\b.*\bSET\b|\bDELETE FROM\b/s,
  /\b(?:prisma|pglite|postgres\w*|pothos|yoga|relation|constraint|TypeError|RangeError|E[A-Z]{4,}REFUSED)\b/i,
  /\[object \w+\]|\bundefined\b/,
];

/** Contract section 4. Throws where an error has a form of its own, or holds something internal. */
function toldBy(entry: Entry): ToldError {
  const { message, path, extensions } = entry;
  if (typeof message !== 'string' || message === '') throw new Error('an error has no message');
  const strange = Object.keys(entry).filter((name) => !MEMBERS.has(name));
  if (strange.length > 0) throw new Error(`an error has ${strange.join()}`);
  // In quotation marks stands what the client wrote, names such as "undefined" included.
  const told = { ...extensions, argument: undefined };
  const text = `${message.replaceAll(/"[^"]*"/g, '""')} ${JSON.stringify(told)}`;
  const internal = INTERNAL.find((pattern) => pattern.test(text));
  if (internal !== undefined) throw new Error(`an error tells of something internal, ${internal}`);
  return { code: extensions.code, path, argument: extensions.argument };
}

/** The JSON of the event after the opening of a stream. Throws where it is not an event with an id on one line. */
function onlyEvent(text: string): string {
  const found = /^retry: \d+\nid: \S+\n\n(?::\n\n)*id: \S+\nevent: next\ndata: ([^\r\n]*)\n\n$/.exec(text);
  if (found === null) throw new Error('the event stream is not an opening and one event');
  return found[1] ?? '';
}

/** Reads the event that an open stream was left after. */
export const readEvent = ({ text }: Reply): Reading => readingOf(onlyEvent(text));

/** Reads a response. Throws where it is no response of GraphQL, or its JSON is not compact on one line. */
export const read = (reply: Reply): Reading =>
  readingOf(isStream(reply) ? onlyResult(reply.text) : reply.text);

function readingOf(json: string): Reading {
  const body: Body = JSON.parse(json);
  if (JSON.stringify(body) !== json) throw new Error('the JSON is not compact, or has a member twice');
  if (body.errors?.length === 0) throw new Error('the list of errors is empty');
  const errors = (body.errors ?? []).map(toldBy);
  return { json, data: body.data, errors, cost: body.extensions?.cost };
}
