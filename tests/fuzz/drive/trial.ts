import { agree } from '../../model/agree.ts';
import type { Case, Verdict } from '../case.ts';
import { HOSTILE_TAGS, HOSTILE_TEXTS } from '../hostile-content.ts';
import { judge, judgeEvent } from '../oracle/oracle.ts';
import type { World } from '../world.ts';
import type { Reply } from './client.ts';
import { compare, compareEvent, type Difference, isLeft } from './compare.ts';
import { holdsMade, shown } from './match.ts';
import { isStream, read } from './reading.ts';
import type { Stage } from './stage.ts';
import { requestOf, type Way } from './ways.ts';

/** A case that was answered otherwise than it should have been. */
export interface Finding extends Difference {
  readonly test: Case;
  readonly way: Way;
  /** Another way, whose response is not the same. */
  readonly other?: Way;
}

export interface Tried {
  readonly verdict: Verdict;
  /** Undefined where no whole response came. */
  readonly reply: Reply | undefined;
  readonly differences: readonly Difference[];
}

let requests = 0;

const CREATE_POST =
  'mutation ($text: String!, $tags: [String!]) { createPost(title: $text, body: $text, tags: $tags) { id } }';

/** Makes a post that open streams tell of. Its id. */
async function createPost({ world, client }: Stage): Promise<string> {
  const nth = (items: readonly string[]) => items[requests % items.length] ?? '';
  const variables = { text: nth(HOSTILE_TEXTS), tags: [nth(HOSTILE_TAGS), 'event'] };
  const { text } = await client.send({
    method: 'POST',
    path: '/graphql',
    headers: { ...world.headersOf('other-member'), 'content-type': 'application/json' },
    body: JSON.stringify({ query: CREATE_POST, variables }),
  });
  const response: { readonly data: { readonly createPost: { readonly id: string } } } = JSON.parse(text);
  return response.data.createPost.id;
}

async function send(
  stage: Stage,
  test: Case,
  way: Way,
  verdict: Verdict,
  idempotencyKey: string | undefined,
) {
  requests += 1;
  const requestId = `fuzz-${requests}`;
  const { origin, world, client } = stage;
  const credentials = world.headersOf(test.caller);
  let postId: string | undefined;
  const announce = async () => {
    postId = await createPost(stage);
  };
  // A stream that hears of no post is left once it has opened.
  const silent = verdict.hears === false;
  const onOpen = verdict.kind === 'subscription' ? (silent ? 'leave' : announce) : undefined;
  const request = requestOf(way, test, { origin, credentials, requestId, idempotencyKey, onOpen });
  return { requestId, reply: await client.send(request), postId };
}

/** What says something about the moment or the credentials (contract: idempotency). */
const RETRIABLE = ['UNAUTHENTICATED', 'RATE_LIMITED'];

/** Whether execution began, and its response is not of the moment: then it is stored under its key. */
const isStored = (reply: Reply) => {
  const { data, errors } = read(reply);
  return data !== undefined && !errors.some(({ code }) => RETRIABLE.includes(code));
};

const statusAndText = ({ status, text }: Reply) => `${status} ${text}`;

/** What is wrong with the response to the same request again, under the same key. */
function replayDifference(
  verdict: Verdict,
  hasAccount: boolean,
  first: Reply,
  second: Reply,
): Difference | undefined {
  // Contract section 6: a key is an account's.
  const stored = verdict.kind === 'mutation' && hasAccount && isStored(first);
  const replayed = second.headers['idempotency-replayed'];
  // An e-mail of somebody else may be rejected for lack of a scope: then nothing is stored.
  const failed = stored && read(first).errors.length > 0;
  if (failed && second.status === 403 && replayed === undefined) return undefined;
  const wanted = stored ? 'true' : undefined;
  if (replayed !== wanted)
    return {
      kind: 'Idempotency-Replayed',
      expected: shown(wanted),
      got: `${shown(replayed)} ${shown(second.text)}`,
    };
  const same = statusAndText(first) === statusAndText(second);
  if (verdict.kind !== 'mutation' || isStream(first) !== isStream(second) || same) return undefined;
  return { kind: 'replay', expected: shown(statusAndText(first)), got: shown(statusAndText(second)) };
}

async function sendAndCompare(
  stage: Stage,
  test: Case,
  way: Way,
  verdict: Verdict,
): Promise<Omit<Tried, 'verdict'>> {
  const key = way.keyed ? `fuzz-${crypto.randomUUID()}` : undefined;
  const { reply, requestId, postId } = await send(stage, test, way, verdict, key);
  const differences = compare(verdict, way, reply, requestId);
  if (postId !== undefined) {
    await stage.world.refresh();
    if (differences.length > 0 || !isLeft(verdict, reply)) return { reply, differences };
    return { reply, differences: compareEvent(judgeEvent(stage.world, test, postId), way, reply) };
  }
  if (key === undefined || differences.length > 0 || verdict.kind === 'subscription')
    return { reply, differences };
  if (reply.headers['idempotency-replayed'] !== undefined)
    return { reply, differences: [{ kind: 'Idempotency-Replayed', expected: 'none', got: 'one' }] };
  const again = await send(stage, test, way, verdict, key);
  const hasAccount = stage.world.callers[test.caller] !== undefined;
  const replay = replayDifference(verdict, hasAccount, reply, again.reply);
  return { reply, differences: replay === undefined ? [] : [replay] };
}

/** What the tables hold, in no order. When a session was last seen is no part of it: to be asked is to be seen. */
const stateOf = ({ snapshot }: World): string =>
  JSON.stringify(
    Object.values(snapshot).map((rows: readonly object[]) =>
      rows.map((row) => JSON.stringify({ ...row, lastSeenAt: undefined })).sort(),
    ),
  );

/** What the tables hold that they should not: all of a mutation that has data, and nothing of any other. */
function leftDifference(
  { leaves }: Verdict,
  world: World,
  before: string,
  reply: Reply,
): Difference | undefined {
  const kind = 'all or nothing';
  if ((read(reply).data ?? null) !== null && leaves !== undefined) {
    const agreed = agree(leaves, world.snapshot);
    if ('state' in agreed) return undefined;
    return { kind, expected: 'what the model leaves behind', got: agreed.differs };
  }
  if (stateOf(world) === before) return undefined;
  return { kind, expected: 'nothing is changed', got: shown(reply.text) };
}

const NO_VERDICT: Verdict = { response: undefined, rejections: [], cost: undefined, kind: undefined };

/** What the oracle says of a case, before it is sent. It may be the one that fails. */
export function judged(world: World, test: Case): Tried {
  try {
    return { verdict: judge(world, test), reply: undefined, differences: [] };
  } catch (error) {
    const got = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const differences = [{ kind: 'no verdict', expected: 'a verdict of the oracle', got }];
    return { verdict: NO_VERDICT, reply: undefined, differences };
  }
}

/** Sends a case one way, and says what is wrong with what came of it. After a mutation the data is read anew. */
export async function tryWay(stage: Stage, test: Case, way: Way, known?: Verdict): Promise<Tried> {
  const { world } = stage;
  const told = known === undefined ? judged(world, test) : undefined;
  if (told !== undefined && told.differences.length > 0) return told;
  const verdict = known ?? told?.verdict ?? NO_VERDICT;
  if (verdict.kind === 'query') await world.index(test.document);
  try {
    const tried = await sendAndCompare(stage, test, way, verdict);
    if (verdict.kind !== 'mutation') return { verdict, ...tried };
    const before = stateOf(world);
    await world.refresh();
    if (tried.reply === undefined || tried.differences.length > 0) return { verdict, ...tried };
    const differs = leftDifference(verdict, world, before, tried.reply);
    return { verdict, ...tried, differences: differs === undefined ? [] : [differs] };
  } catch (error) {
    const hang = { kind: 'no answer', expected: 'an answer', got: String(error) };
    return { verdict, reply: undefined, differences: [hang] };
  }
}

/** What a response says, where it must be the same whichever way it came; undefined where the contract leaves a choice. */
function saidBy({ verdict: { response, rejections }, reply }: Tried): string | undefined {
  if (reply === undefined || rejections.length > 1 || holdsMade(response?.data)) return undefined;
  if (response?.data === null || response?.errors.some(({ oneOf }) => oneOf.length > 1)) return undefined;
  const { json, errors } = read(reply);
  if (errors.some(({ code }) => code === 'BAD_REQUEST')) return undefined;
  return errors.length > 1 ? withSortedErrors(json) : json;
}

/** Fields that fail are told of in the order in which they failed, which is chance. */
function withSortedErrors(json: string): string {
  const { errors, ...rest } = JSON.parse(json) as { readonly errors: readonly unknown[] };
  return JSON.stringify([errors.map((error) => JSON.stringify(error)).sort(), rest]);
}

/** What two ways tell differently of one case, messages and places in the document included. */
export function disagreement(one: Tried, another: Tried): Difference | undefined {
  const [a, b] = [saidBy(one), saidBy(another)];
  if (a === undefined || b === undefined || a === b) return undefined;
  return { kind: 'two ways', expected: shown(a), got: shown(b) };
}
