import type { GraphQLSchema } from 'graphql';
import { type Random, randomFrom } from '../../chaos/support/random.ts';
import { CALLERS, type Case } from '../case.ts';
import { mixSeeds, oneIn } from '../generate/draw.ts';
import { randomCase } from '../generate/random-case.ts';
import type { Stage } from './stage.ts';
import type { Tally } from './tally.ts';
import { disagreement, type Finding, judged, type Sending, type Tried, tryWay } from './trial.ts';
import { randomWays, SHORT_WAY, type Way } from './ways.ts';

/** So many earlier cases are asked again. */
const REMEMBERED = 100;

/** Cases one after the other, each from the seed of the run and its own number. */
export class Campaign {
  readonly #seed: number;
  readonly #schema: GraphQLSchema;
  readonly #tally: Tally;
  #earlier: Case[] = [];
  readonly #sent: Sending[] = [];

  constructor(seed: number, schema: GraphQLSchema, tally: Tally) {
    this.#seed = seed;
    this.#schema = schema;
    this.#tally = tally;
  }

  /** Another service begins: it has met none of the cases so far. */
  begin(): void {
    this.#earlier = [];
    this.#sent.length = 0;
  }

  /** What the service has met so far. */
  get sent(): readonly Sending[] {
    return this.#sent;
  }

  /** Tries a case by its number, and one before it again. What is wrong, if anything is. */
  async run(stage: Stage, number: number): Promise<Finding | undefined> {
    const seed = mixSeeds(this.#seed, number);
    const random = randomFrom(mixSeeds(seed, 1));
    const test = randomCase(seed, this.#schema, stage.world.known);
    const found = await this.#attempt(stage, random, test);
    const again = this.#again(random);
    this.#remember(random, test);
    return found ?? (again && (await this.#attempt(stage, random, again)));
  }

  #remember(random: Random, test: Case): void {
    if (this.#earlier.length < REMEMBERED) this.#earlier.push(test);
    else this.#earlier[random.below(REMEMBERED)] = test;
  }

  /** An earlier case, or its document with what came with another: what is kept of it must not be told to the wrong one. */
  #again(random: Random): Case | undefined {
    if (this.#earlier.length === 0 || !oneIn(random, 2)) return undefined;
    const test = random.pick(this.#earlier);
    const other = random.pick(this.#earlier);
    return {
      ...test,
      caller: oneIn(random, 2) ? random.pick(CALLERS) : test.caller,
      variables: oneIn(random, 3) ? { ...test.variables, ...other.variables } : test.variables,
      operationName: oneIn(random, 8) ? other.operationName : test.operationName,
    };
  }

  async #attempt(stage: Stage, random: Random, test: Case): Promise<Finding | undefined> {
    const { verdict, differences } = judged(stage.world, test);
    for (const difference of differences) return { ...difference, test, way: SHORT_WAY };
    this.#tally.judged(verdict);
    const before: { readonly way: Way; readonly tried: Tried }[] = [];
    for (const way of randomWays(random, test, verdict)) {
      const tried = await tryWay(stage, test, way, verdict.kind === 'mutation' ? undefined : verdict);
      this.#tally.sent(way, tried);
      const [difference] = tried.differences;
      if (difference !== undefined) return { ...difference, test, way };
      // The figures of the cost are part of an answer.
      const alike = before.find((earlier) => earlier.way.cost === way.cost);
      const told = alike && verdict.kind === 'query' ? disagreement(alike.tried, tried) : undefined;
      if (alike !== undefined && told !== undefined) return { ...told, test, way, other: alike.way };
      before.push({ way, tried });
      this.#sent.push({ test, way });
    }
    return undefined;
  }
}
