import { type RawAnswer, send } from '../../support/keyed.ts';
import { makeCast, sentAs, usable, type Watcher } from './cast.ts';
import { logIn, logOut } from './doors.ts';
import { write } from './fields.ts';
import { refill } from './limits.ts';
import { type Circumstances, explain, type Mutation, type Sent, slotOf } from './model.ts';
import type { Move, Sending } from './moves.ts';
import { describe, type Posted, postedBy } from './posted.ts';
import { agree, lastEvent, takeSnapshot } from './snapshot.ts';
import { type Credential, named, type State } from './state.ts';
import { during, settled } from './storm.ts';
import { Streams } from './streams.ts';
import { Violation } from './violation.ts';
import type { World } from './world.ts';

/** More ways than this to see what has happened would only be slow. */
const MOST_STATES = 24;

const DISTURBS_REDIS: readonly (string | undefined)[] = ['stall Redis', 'drop Redis'];

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
  readonly #keyed: (Posted & { readonly operation: Mutation })[] = [];
  /** Never empty. They agree on what the tables hold. */
  #states: readonly State[];
  #move = 0;
  #redisLost = false;
  #realMs = performance.now();

  private constructor(world: World, state: State, watcher: Watcher, firstEvent: bigint, count: Count) {
    this.#count = count;
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
        const post = named(this.#state.postIds, move.post);
        const query = `{ post(id: "${post}") { title tags commentCount author { id } comments(limit: 100) { id body author { id } } } }`;
        return this.#query(move.instance, move.by, { kind: 'query', post }, query);
      }
      case 'burst':
        for (let left = move.count; left > 0; left -= 1)
          await this.#query(move.instance, move.by, { kind: 'query', post: undefined }, '{ __typename }');
        return;
      case 'pass':
        this.#world.pass(move.ms);
        this.#states = this.#states.map((state) => {
          const later = { ...state, elapsedMs: state.elapsedMs + move.ms };
          return this.#world.limits.shared ? later : refill(later, this.#world.limits, move.ms, true);
        });
        return;
      case 'set clock':
        return this.#world.setClock(move.instance, move.hours);
      case 'log in':
        this.#states = await logIn(this.#world, this.#states, move.instance, move.account, this.#redisLost);
        return;
      case 'log out':
        this.#states = await logOut(this.#world, this.#states, move.instance, move.session);
        return;
      case 'follow': {
        const credential = this.#who(move.by);
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

  #who(by: number, account?: number): Credential {
    const all = usable(this.#state).filter((one) => account === undefined || one.account === account);
    const found = all[by % all.length];
    if (found === undefined) throw new Error('nobody is there');
    return found;
  }

  #written({ instance, by, asked }: Sending): Posted {
    if ('fields' in asked || this.#keyed.length === 0) {
      const fields = 'fields' in asked ? asked.fields.map((field) => write(field, this.#state)) : [];
      const idempotencyKey = 'fields' in asked && asked.slot !== undefined ? `key ${asked.slot}` : undefined;
      const operation: Mutation = { kind: 'mutation', fields, withLast: fields.length === 0, idempotencyKey };
      return postedBy(instance, this.#who(by), operation, false);
    }
    const first = this.#keyed[this.#keyed.length - 1 - (asked.again % this.#keyed.length)];
    if (first === undefined) throw new Error('nothing was sent under a key');
    const { operation, credential } = first;
    const withLast = asked.change === 'variables' ? !operation.withLast : operation.withLast;
    // Now and then it is tried from another account, whose keys are its own.
    const who = by % 5 === 4 ? this.#who(by) : this.#who(by, credential.account);
    return postedBy(instance, who, { ...operation, withLast }, asked.change === 'spaces');
  }

  async #post({ instance, credential, operation, query, variables }: Posted): Promise<RawAnswer> {
    const service = this.#world.instances[instance];
    if (service === undefined) throw new Error('no such instance');
    const idempotencyKey = operation.kind === 'mutation' ? operation.idempotencyKey : undefined;
    const answer = await send(service, {
      query,
      variables,
      ...sentAs(credential),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    this.#count(
      [operation.kind, answer.status, ...answer.codes, answer.replayed && 'replayed']
        .filter(Boolean)
        .join(' '),
    );
    return answer;
  }

  async #send(sends: readonly Sending[], fault: Parameters<typeof during>[1]): Promise<void> {
    const posted = sends.map((one) => this.#written(one));
    const answers = await during(this.#world, fault, () => Promise.all(posted.map((one) => this.#post(one))));
    for (const one of posted)
      if (one.operation.kind === 'mutation' && one.operation.idempotencyKey !== undefined)
        this.#keyed.push({ ...one, operation: one.operation });
    if (DISTURBS_REDIS.includes(fault?.kind)) this.#redisLost = true;
    else if (fault !== undefined) await settled(this.#world, this.#watcher);
    await this.#conclude(posted, answers, fault !== undefined);
  }

  async #query(instance: number, by: number, operation: Sent['operation'], query: string): Promise<void> {
    const posted: Posted = { instance, credential: this.#who(by), operation, query, variables: {} };
    const answer = await this.#post(posted);
    const states = this.#explained([posted], [answer], false);
    if (states.length === 0) throw this.#unexplained([posted], [answer]);
    this.#states = distinct(states);
  }

  /** Keeps the states that explain the answers and what the tables hold now. */
  async #conclude(posted: readonly Posted[], answers: readonly RawAnswer[], storm: boolean): Promise<void> {
    const states = this.#explained(posted, answers, storm);
    if (states.length === 0) throw this.#unexplained(posted, answers);
    const snapshot = await takeSnapshot(this.#world.database, this.#state, this.#firstEvent);
    const verdicts = states.map((state) => agree(state, snapshot));
    const agreeing = verdicts.flatMap((verdict) => ('state' in verdict ? [verdict.state] : []));
    if (agreeing.length === 0) {
      const [verdict] = verdicts;
      const what = verdict !== undefined && 'differs' in verdict ? verdict.differs : 'nothing to compare';
      throw new Violation(`the tables hold what the answers do not say: ${what}`, describe(posted, answers));
    }
    this.#states = distinct(agreeing);
  }

  /** Every order in which the requests may have been done, as far as the answers allow it. */
  #explained(posted: readonly Posted[], answers: readonly RawAnswer[], storm: boolean): State[] {
    const found: State[] = [];
    const { limits } = this.#world;
    for (const before of this.#states) {
      const circumstances: Circumstances = {
        limits,
        move: this.#move,
        before,
        alone: posted.length === 1 && !storm,
        storm,
        redisLost: this.#redisLost,
      };
      const go = (state: State, left: readonly number[]) => {
        if (found.length >= MOST_STATES * 4) return;
        if (left.length === 0) found.push(state);
        for (const index of left) {
          const [sent, answer] = [posted[index], answers[index]];
          if (sent === undefined || answer === undefined) continue;
          for (const after of explain(state, sent, answer, circumstances))
            go(
              after,
              left.filter((one) => one !== index),
            );
        }
      };
      go(before, [...posted.keys()]);
    }
    return found;
  }

  #unexplained(posted: readonly Posted[], answers: readonly RawAnswer[]): Violation {
    const stored = posted.flatMap(({ operation, credential }) => {
      if (operation.kind !== 'mutation' || operation.idempotencyKey === undefined) return [];
      return JSON.stringify(this.#state.stored[slotOf(credential, operation.idempotencyKey)] ?? 'not stored');
    });
    return new Violation('no order of these requests explains their answers', [
      ...describe(posted, answers),
      ...stored.map((text) => `before, under the key: ${text}`),
    ]);
  }
}

function distinct(states: readonly State[]): readonly State[] {
  if (states.length < 2) return states;
  const found = new Map(states.map((state) => [JSON.stringify(state), state]));
  return [...found.values()].slice(0, MOST_STATES);
}
