import { operationIn } from '../../model/execution.ts';
import { named } from '../../model/mutations.ts';
import { type RawResponse, send } from '../../support/keyed.ts';
import { makeCast, sentAs, usable, type Watcher, who } from './cast.ts';
import { logIn, logOut } from './doors.ts';
import { explainAll } from './explain-all.ts';
import { refill } from './limits.ts';
import type { Mutation } from './model.ts';
import type { Move, Sending } from './moves.ts';
import { describe, type Keyed, type Posted, postedBy, written } from './posted.ts';
import { agree, lastEvent, takeSnapshot } from './snapshot.ts';
import { type Credential, distinct, knownIn, type State } from './state.ts';
import { during, settled } from './storm.ts';
import { Streams } from './streams.ts';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

/** More ways than this to see what has happened would only be slow. */
const MOST_STATES = 24;

/** Counts what there was of something. */
export type Count = (what: string) => void;

/** One sequence: what is known of the service, and everything that may still be so. */
export class Play {
  readonly #world: World;
  readonly #watcher: Watcher;
  readonly #firstEvent: bigint;
  readonly #streams: Streams;
  readonly #count: Count;
  /** Mutations that were sent under a key, the oldest first. */
  readonly #keyed: Keyed[] = [];
  /** Never empty. They agree on what the tables hold. */
  #states: readonly State[];
  #move = 0;
  /** Whether a fault has come between an instance and Redis. */
  #redisDisturbed = false;
  readonly #redisOutages: number;
  #realMs = performance.now();

  private constructor(world: World, state: State, watcher: Watcher, firstEvent: bigint, count: Count) {
    this.#count = count;
    this.#redisOutages = outagesOf(world);
    this.#world = world;
    this.#states = [state];
    this.#watcher = watcher;
    this.#firstEvent = firstEvent;
    this.#streams = new Streams(world, watcher);
  }

  static async begin(world: World, count: Count): Promise<Play> {
    // All buckets of the sequences before are full again.
    world.pass(3_600_000);
    const { state, watcher } = await makeCast(world);
    await settled(world, watcher);
    const play = new Play(world, state, watcher, await lastEvent(world.database), count);
    await play.#streams.watch();
    return play;
  }

  readonly #redisLost = () => this.#redisDisturbed || outagesOf(this.#world) > this.#redisOutages;

  get #state(): State {
    const [state] = this.#states;
    if (state === undefined) throw new Error('nothing explains what has happened');
    return state;
  }

  /** Makes a move. Throws Violation where what comes back is not what the contract says. */
  async make(move: Move): Promise<void> {
    this.#move += 1;
    if (this.#world.limits.shared) {
      const nowMs = performance.now();
      const ms = nowMs - this.#realMs + 1;
      this.#states = this.#states.map((state) => refill(state, this.#world.limits, ms, false));
      this.#realMs = nowMs;
    }
    switch (move.move) {
      case 'send':
        return this.#send(move.sends, move.fault);
      case 'read': {
        const post = JSON.stringify(named(knownIn(this.#state).posts, move.post));
        const query = `{ post(id: ${post}) { title tags commentCount author { id } comments(limit: 100) { id body author { id } } } }`;
        return this.#query(move.instance, who(this.#state, move.by), query);
      }
      case 'search': {
        const { query: words, account, first } = move;
        const author = this.#state.users[account]?.id;
        await this.#world.index();
        const query = `{ searchPosts(query: ${JSON.stringify(words)}, filter: { author: "${author}" }, first: ${first}) { nodes { id title tags } pageInfo { hasNextPage } } }`;
        return this.#query(move.instance, who(this.#state, move.by), query);
      }
      case 'burst':
        for (let left = move.count; left > 0; left -= 1)
          await this.#look(move.instance, who(this.#state, move.by));
        return;
      case 'revoke':
        return this.#revoke(move.instance, who(this.#state, move.by), move.ms);
      case 'pass':
        return this.#pass(move.ms);
      case 'set clock':
        return this.#world.setClock(move.instance, move.hours);
      case 'log in':
        this.#states = await logIn(this.#world, this.#states, move.instance, move.account, this.#redisLost);
        return;
      case 'log out':
        this.#states = await logOut(
          this.#world,
          this.#states,
          move.instance,
          move.session,
          this.#move,
          this.#redisLost,
        );
        return;
      case 'follow': {
        const credential = who(this.#state, move.by);
        this.#states = await this.#streams.follow(
          this.#states,
          credential,
          move,
          this.#move,
          this.#redisLost,
        );
        return;
      }
      case 'cut stream':
        return this.#streams.cut(move.stream);
    }
  }

  /** Looks at the streams, once all is over. */
  async end(): Promise<void> {
    await this.#streams.check(this.#state);
  }

  async close(): Promise<void> {
    await this.#streams.close();
  }

  #pass(ms: number): void {
    const { limits } = this.#world;
    this.#world.pass(ms);
    this.#states = this.#states.map((state) => {
      const later = { ...state, elapsedMs: state.elapsedMs + ms };
      return limits.shared ? later : refill(later, limits, ms, true);
    });
  }

  async #post({ instance, credential, operation, query, asked }: Posted): Promise<RawResponse> {
    const service = this.#world.instances[instance];
    if (service === undefined) throw new Error('no such instance');
    const idempotencyKey = operation.kind === 'mutation' ? operation.idempotencyKey : undefined;
    const response = await send(service, {
      query,
      variables: asked.inputs,
      ...sentAs(credential),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    this.#count(
      [operation.kind, response.status, ...response.codes, response.replayed && 'replayed']
        .filter(Boolean)
        .join(' '),
    );
    return response;
  }

  async #send(sends: readonly Sending[], fault: Parameters<typeof during>[1]): Promise<void> {
    const posted = sends.map((one) => written(this.#state, this.#keyed, one));
    const responses = await during(this.#world, fault, () =>
      Promise.all(posted.map((one) => this.#post(one))),
    );
    for (const one of posted)
      if (one.operation.kind === 'mutation' && one.operation.idempotencyKey !== undefined)
        this.#keyed.push({ ...one, operation: one.operation });
    if (fault?.kind.endsWith('Redis')) this.#redisDisturbed = true;
    else if (fault !== undefined) await settled(this.#world, this.#watcher);
    await this.#conclude(posted, responses, fault !== undefined);
  }

  #look(instance: number, credential: Credential): Promise<void> {
    return this.#query(instance, credential, '{ __typename }');
  }

  /** A key that was just used is revoked at the other instance, and used again. */
  async #revoke(instance: number, { kind, id, account }: Credential, ms: number): Promise<void> {
    const key = usable(this.#state).find((one) => one.id === id);
    const session = usable(this.#state).find(
      (one) => one.kind === 'session' && one.account === account && one.endedMs === undefined,
    );
    if (kind !== 'key' || key === undefined || session === undefined) return;
    await this.#look(instance, key);
    const fields = [`revokeApiKey(id: ${JSON.stringify(id)})`];
    const operation: Mutation = {
      kind: 'mutation',
      fields,
      withLast: false,
      plain: true,
      idempotencyKey: undefined,
    };
    const posted = postedBy(1 - instance, session, operation, false);
    await this.#conclude([posted], [await this.#post(posted)], false);
    this.#pass(ms);
    await this.#look(instance, key);
  }

  async #query(instance: number, credential: Credential, query: string): Promise<void> {
    const operation = { kind: 'query' as const };
    const posted: Posted = { instance, credential, operation, query, asked: operationIn(query, {}) };
    const response = await this.#post(posted);
    const states = this.#explained([posted], [response], false);
    if (states.length === 0) throw this.#unexplained([posted], [response]);
    this.#states = distinct(states, MOST_STATES);
  }

  /** Keeps the states that explain the responses and what the tables hold now. */
  async #conclude(
    posted: readonly Posted[],
    responses: readonly RawResponse[],
    storm: boolean,
  ): Promise<void> {
    const states = this.#explained(posted, responses, storm);
    if (states.length === 0) throw this.#unexplained(posted, responses);
    const snapshot = await takeSnapshot(this.#world.database, this.#state, this.#firstEvent);
    const verdicts = states.map((state) => agree(state, snapshot));
    const agreeing = verdicts.flatMap((verdict) => ('state' in verdict ? [verdict.state] : []));
    if (agreeing.length === 0) {
      const [verdict] = verdicts;
      const what = verdict !== undefined && 'differs' in verdict ? verdict.differs : 'nothing to compare';
      throw new Violation(
        `the tables hold what the answers do not say: ${what}`,
        describe(posted, responses, this.#state),
      );
    }
    this.#states = distinct(agreeing, MOST_STATES);
  }

  #explained(posted: readonly Posted[], responses: readonly RawResponse[], storm: boolean): State[] {
    return explainAll(this.#states, posted, responses, {
      limits: this.#world.limits,
      move: this.#move,
      alone: posted.length === 1 && !storm,
      storm,
      redisLost: this.#redisLost(),
    });
  }

  #unexplained(posted: readonly Posted[], responses: readonly RawResponse[]): Violation {
    const lines = describe(posted, responses, this.#state);
    return new Violation('no order of these requests explains their answers', lines);
  }
}

const outagesOf = ({ redis }: World) => redis.reduce((sum, { outages }) => sum + outages, 0);
