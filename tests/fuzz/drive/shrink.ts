import { shorter, smallerCases } from './smaller.ts';
import { type Stage, withNewService } from './stage.ts';
import { disagreement, type Finding, type Sending, tryWay } from './trial.ts';
import { PLAIN_POST, type Way } from './ways.ts';

/** So long a smaller case is looked for. */
const PATIENCE_MS = 30_000;

export interface Shrunk extends Finding {
  /** What has to be sent before, so that the case differs. Undefined where it did not differ again. */
  readonly before: readonly Sending[] | undefined;
}

/** Ways that do less than one, the simplest first. */
const simplerWays = (way: Way): readonly Way[] => [
  PLAIN_POST,
  { ...PLAIN_POST, accept: way.accept },
  { ...PLAIN_POST, origin: way.origin },
  { ...PLAIN_POST, method: way.method },
  { ...way, cost: false },
  { ...way, keyed: false },
  { ...way, origin: false },
];

/** Sendings and a case after them that differs. */
interface Story {
  readonly before: readonly Sending[];
  readonly last: Finding;
}

/** Tells a story on a service; undefined where nothing differs in the same way as in the finding. */
async function tell(
  stage: Stage,
  { kind, other }: Finding,
  before: readonly Sending[],
  { test, way }: Sending,
): Promise<Story | undefined> {
  for (const earlier of before) await tryWay(stage, earlier.test, earlier.way);
  if (other !== undefined) {
    const first = await tryWay(stage, test, other);
    const told = disagreement(first, await tryWay(stage, test, way));
    return told && { before, last: { ...told, test, way, other } };
  }
  const { differences } = await tryWay(stage, test, way);
  const same = differences.find((difference) => difference.kind === kind);
  return same && { before, last: { ...same, test, way } };
}

type Teller = (before: readonly Sending[], last: Sending) => Promise<Story | undefined>;

/** Follows the first simpler story again and again, until none differs or the time is over. */
async function simplest(story: Story, teller: Teller): Promise<Story> {
  const end = performance.now() + PATIENCE_MS;
  let best = story;
  for (let found = true; found; ) {
    found = false;
    for (const [before, last] of simplerStories(best)) {
      if (performance.now() > end) return best;
      const next = await teller(before, last);
      if (next === undefined) continue;
      best = next;
      found = true;
      break;
    }
  }
  return best;
}

function* simplerStories({ before, last }: Story): Generator<[readonly Sending[], Sending]> {
  for (const fewer of shorter(before)) yield [fewer, last];
  if (last.other === undefined)
    for (const way of simplerWays(last.way)) if (asks(way) < asks(last.way)) yield [before, { ...last, way }];
  for (const test of smallerCases(last.test)) yield [before, { ...last, test }];
  for (const [at, sending] of before.entries())
    for (const test of smallerCases(sending.test))
      yield [[...before.slice(0, at), { ...sending, test }, ...before.slice(at + 1)], last];
}

/** How much more a way asks for than a plain POST does. */
const asks = ({ method, accept, origin, cost, keyed }: Way) =>
  Number(method === 'GET') + Number(accept !== undefined) + Number(origin) + Number(cost) + Number(keyed);

/**
 * Looks for a smaller case, and a simpler way, with the same kind of difference. Where it differs only after others they
 * are part of what is made smaller, and each try takes a service without a past.
 */
export async function shrink(stage: Stage, finding: Finding, sent: readonly Sending[]): Promise<Shrunk> {
  const anew: Teller = (before, last) => withNewService(stage, (fresh) => tell(fresh, finding, before, last));
  const alike = sent.filter(({ test }) => test.document === finding.test.document);
  for (const before of [[], alike, sent.slice(-100), sent.slice(-1_000)]) {
    const story = await anew(before, finding);
    if (story === undefined) continue;
    const quick = await withNewService(stage, (fresh) =>
      before.length > 0
        ? Promise.resolve(undefined)
        : simplest(story, (_, last) => tell(fresh, finding, [], last)),
    );
    // What was tried in between may have made it differ.
    const sure = quick && (await anew([], quick.last));
    const { last, before: needed } = sure ?? (await simplest(story, anew));
    return { ...last, before: needed };
  }
  return { ...finding, before: undefined };
}
