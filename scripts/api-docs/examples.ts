import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { getOperationAST, type OperationTypeNode, parse } from 'graphql';
import { FIXED_ID } from './example-data.ts';
import { jsonLines } from './markdown.ts';

/** An example as it is written: `examples/<coordinate>.graphql`, or `<coordinate>.<word>.graphql` for a further one. */
interface Example {
  readonly coordinate: string;
  /** The comment at its beginning: a sentence above it. */
  readonly title: string;
  readonly operation: string;
  readonly kind: OperationTypeNode;
}

export interface RanExample extends Example {
  /** JSON, indented. */
  readonly response: string;
}

/** Where examples run: `fetch` of the service, and a key that may do what they do. */
export interface ExampleService {
  fetch(path: string, init: RequestInit): Promise<Response>;
  readonly key: string;
}

const FOLDER = join(import.meta.dirname, 'examples');
/** What is read comes before what is written: examples share one database. */
const ORDER = ['query', 'subscription', 'mutation'];

function readExamples(): Example[] {
  return readdirSync(FOLDER)
    .map((file) => basename(file, '.graphql'))
    .sort()
    .map((name) => {
      const [, comment = '', operation = ''] =
        /^((?:#.*\n)+)([\s\S]*)$/.exec(readFileSync(join(FOLDER, `${name}.graphql`), 'utf8')) ?? [];
      const kind = getOperationAST(parse(operation))?.operation;
      if (kind === undefined) throw new Error(`${name} has no comment, or not one operation`);
      const title = comment.replaceAll(/^# ?/gm, '').trim().replaceAll('\n', ' ');
      return { coordinate: name.split('.').slice(0, 2).join('.'), title, operation, kind };
    })
    .sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
}

const UUID = /\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const INSTANT = /\b\d{4}-\d\d-\d\dT[\d:.]+Z/g;
const NEW_ID = '01a1fc0b-d7c6-7522-a0ad-a02e495c27bd';
const NEW_INSTANT = '2026-11-21T12:00:00.000Z';

/** The response without what is different each time: ids and instants of new rows. */
function steady(json: string, known: ReadonlySet<string>): string {
  const text = json
    .replaceAll(UUID, (id) => (FIXED_ID.test(id) ? id : NEW_ID))
    .replaceAll(INSTANT, (instant) => (known.has(instant) ? instant : NEW_INSTANT));
  return jsonLines(JSON.parse(text));
}

async function post({ fetch, key }: ExampleService, query: string, accept: string): Promise<Response> {
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept },
    body: JSON.stringify({ query }),
  });
  if (response.status !== 200) throw new Error(`status ${response.status}: ${query}`);
  return response;
}

async function run(service: ExampleService, operation: string): Promise<string> {
  return (await post(service, operation, 'application/json')).text();
}

const EVENT = 'mutation { createPost(title: "Hello", body: "First post.", tags: ["intro"]) { id } }';

/** Opens the stream, writes a post, and returns the event. */
async function firstEvent(service: ExampleService, operation: string): Promise<string> {
  const { body } = await post(service, operation, 'text/event-stream');
  if (body === null) throw new Error('a stream without a body');
  let text = '';
  let isWritten = false;
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const data = /^event: next\ndata: (.*)\n/m.exec(text)?.[1];
    if (data !== undefined) return data;
    // The first block has the position of the stream: later events are in it.
    if (!isWritten && text.includes('\n\n')) {
      isWritten = true;
      await run(service, EVENT);
    }
  }
  throw new Error(`the stream ended: ${text}`);
}

/**
 * Runs all examples on a service with the example data, `instants` of which are printed as they are. Throws if one has
 * errors in its response.
 */
export async function runExamples(
  service: ExampleService,
  instants: ReadonlySet<string>,
): Promise<readonly RanExample[]> {
  const ran: RanExample[] = [];
  for (const example of readExamples()) {
    const { operation, kind } = example;
    const json = await (kind === 'subscription' ? firstEvent : run)(service, operation);
    if ('errors' in JSON.parse(json)) throw new Error(`${example.coordinate}: ${json}`);
    ran.push({ ...example, response: steady(json, instants) });
  }
  return ran;
}
