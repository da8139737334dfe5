import { isRejection } from '../../model/responses.ts';
import { isMade } from '../../model/state.ts';
import { send } from '../../support/keyed.ts';
import { sentAs, type Watcher } from './cast.ts';
import { Follower } from './follower.ts';
import { bucketsOf, takes } from './limits.ts';
import type { Move } from './moves.ts';
import type { Credential, State } from './state.ts';
import { Violation } from './violation.ts';
import { MAX_STREAMS_PER_CLIENT, type World } from './world.ts';

/** Only ends a wait that is in vain. */
const CATCH_UP_MS = 120_000;
const REVOKED_WITHIN_MS = 1_000;

type Follow = Extract<Move, { readonly move: 'follow' }>;

/** The event streams of a sequence: two that see everything, and those that come, go and come back. */
export class Streams {
  readonly #world: World;
  readonly #watcher: Watcher;
  #witnesses: readonly Follower[] = [];
  readonly #followers: Follower[] = [];

  constructor(world: World, watcher: Watcher) {
    this.#world = world;
    this.#watcher = watcher;
  }

  async watch(): Promise<void> {
    this.#witnesses = [new Follower(0, []), new Follower(0, [])];
    for (const [instance, witness] of this.#witnesses.entries()) await this.#resume(witness, instance);
  }

  /** Opens a stream, or has one that was there before come back. The states that explain what came of it. */
  async follow(
    states: readonly State[],
    credential: Credential,
    { instance, resumes }: Follow,
    move: number,
    redisLost: () => boolean,
  ): Promise<State[]> {
    const clients = [
      `${instance} ${credential.kind === 'key' ? credential.id : `user ${credential.account}`}`,
      `${instance} account ${credential.account}`,
    ];
    const count = this.#followers.length;
    const before = resumes === undefined ? undefined : this.#followers[count - 1 - (resumes % count)];
    await before?.cut();
    const follower = new Follower(before?.since ?? move, clients);
    follower.lastId = before?.lastId;
    follower.ids.push(...(before?.ids ?? []));
    const most = [MAX_STREAMS_PER_CLIENT, MAX_STREAMS_PER_CLIENT * this.#world.limits.accountFactor];
    const counts = (states: readonly Follower['state'][]) =>
      clients.map(
        (one) =>
          this.#followers.filter(({ clients, state }) => clients.includes(one) && states.includes(state))
            .length,
      );
    const full = (counted: readonly number[]) => counted.some((n, index) => n >= (most[index] ?? 0));
    const isFull = full(counts(['open']));
    // One that has just gone may still be counted.
    const mayBeFull = full(counts(['open', 'cut', 'broken', 'refused']));
    const { response, rejected } = await follower.open(this.#world, instance, sentAs(credential));
    const after = states.flatMap((state) =>
      [...this.#explained(state, credential, instance, redisLost())]
        .filter(({ expected }) => {
          if (expected === 'open')
            return (!isFull && rejected === undefined) || (mayBeFull && response.status === 429);
          return rejected !== undefined && response.status === expected;
        })
        .map(({ state: one }) => one),
    );
    if (after.length === 0) {
      const what = `a stream at instance ${instance} with a ${credential.kind} of account ${credential.account}`;
      throw new Violation(`${what} is answered with ${response.status}`, [
        rejected ?? 'an open stream',
        `open streams of the client and the account: ${counts(['open']).join(', ')}`,
      ]);
    }
    if (rejected !== undefined && before === undefined) return after;
    if (before !== undefined) this.#followers.splice(this.#followers.indexOf(before), 1);
    this.#followers.push(follower);
    return after;
  }

  *#explained(state: State, credential: Credential, instance: number, redisLost: boolean) {
    const { limits } = this.#world;
    const endedMs = state.credentials.find(({ id }) => id === credential.id)?.endedMs;
    const lately = credential.kind === 'key' && state.elapsedMs - (endedMs ?? 0) < REVOKED_WITHIN_MS;
    const standings = endedMs === undefined ? ['valid'] : lately ? ['valid', 'ended'] : ['ended'];
    for (const standing of standings) {
      const asked = bucketsOf(limits, instance, standing === 'ended' ? 'failed' : credential);
      for (const taken of takes(state, limits, asked, redisLost)) {
        const permitted = credential.scopes.includes('posts:read') ? ('open' as const) : 403;
        const expected = standing === 'ended' ? 401 : permitted;
        yield { state: taken.state, expected: taken.allowed ? expected : 429 };
      }
    }
  }

  async cut(reference: number): Promise<void> {
    await this.#followers[this.#followers.length - 1 - (reference % this.#followers.length)]?.cut();
  }

  /** Brings every stream up to date and compares what it was told with what was announced. */
  async check(state: State): Promise<void> {
    const last = await this.#announceLast();
    const all = [...this.#witnesses, ...this.#followers];
    for (const [index, follower] of all.entries()) {
      if (await follower.reaches(last, follower.state === 'open' ? CATCH_UP_MS : 0)) continue;
      if (follower.state === 'open')
        throw new Violation('a stream does not get a post', [JSON.stringify(follower.ids), last]);
      // It comes back as its client does, to the other instance, with credentials that hold.
      await follower.cut();
      await this.#resume(follower, (follower.instance + 1 + (index % 2)) % 2);
      if (!(await follower.reaches(last, CATCH_UP_MS)))
        throw new Violation('a stream that was resumed does not get a post', [
          JSON.stringify(follower.ids),
          last,
        ]);
      await follower.cut();
    }
    this.#compare(state, last);
  }

  #compare(state: State, last: string): void {
    const [witness] = this.#witnesses;
    if (witness === undefined) throw new Error('nobody has watched');
    const announced = new Map(state.announced.map((id, index) => [id, state.announcedIn[index] ?? 0]));
    const there = new Set(state.posts.map(({ id }) => id));
    announced.set(last, Number.POSITIVE_INFINITY);
    const kept = (ids: readonly string[]) => ids.filter((id) => id === last || there.has(id));
    const expected = kept([...announced.keys()]);
    const order = kept(witness.ids);
    const fail = (what: string, { ids }: Follower): never => {
      throw new Violation(what, [`announced: ${[...announced.keys()].join(' ')}`, `came: ${ids.join(' ')}`]);
    };
    for (const follower of [...this.#witnesses, ...this.#followers]) {
      const { ids, complaints, since } = follower;
      if (complaints.length > 0) fail(`a stream says ${complaints[0]}`, follower);
      if (new Set(ids).size < ids.length) fail('a stream tells of a post twice', follower);
      const strange = ids.filter((id) => !announced.has(id));
      // The post of a mutation whose response got lost may have gone before anybody learnt its id.
      const nameless = state.announced.filter(isMade).length;
      if (strange.length > nameless) fail('a stream tells of a post that was not committed', follower);
      const mine = kept(ids);
      if (mine.join() !== order.slice(order.length - mine.length).join())
        fail(`a stream has another order than another, or leaves a post out: ${order.join(' ')}`, follower);
      const missing = expected.filter((id) => (announced.get(id) ?? 0) > since && !ids.includes(id));
      if (missing.length > 0) fail(`a stream does not tell of ${missing.join(' ')}`, follower);
    }
    const moves = order.map((id) => announced.get(id) ?? 0);
    if (moves.some((move, index) => move < (moves[index - 1] ?? 0)))
      fail('a post comes before one that was committed earlier', witness);
  }

  /** A post of the watcher's, the last one of the sequence. */
  async #announceLast(): Promise<string> {
    const service = this.#world.instances[0];
    if (service === undefined) throw new Error('no such instance');
    const query = 'mutation { createPost(title: "last", body: "b") { id } }';
    const result = await send(service, { query, key: this.#watcher.key });
    if (result.status !== 200 || isRejection(result, 200, ''))
      throw new Violation('the last post is refused', [result.text]);
    return JSON.parse(result.text).data.createPost.id;
  }

  async #resume(follower: Follower, instance: number): Promise<void> {
    const deadlineMs = performance.now() + CATCH_UP_MS;
    for (;;) {
      const { response, rejected } = await follower.open(this.#world, instance, { key: this.#watcher.key });
      if (rejected === undefined) return;
      // Places of streams that have just gone are free again in a moment.
      if (response.status !== 429 || performance.now() > deadlineMs)
        throw new Violation(`a stream that comes back is answered with ${response.status}`, [rejected]);
    }
  }

  async close(): Promise<void> {
    for (const follower of [...this.#witnesses, ...this.#followers]) await follower.cut();
  }
}
