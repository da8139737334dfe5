import type { GraphQLSchema } from 'graphql';
import { type Random, randomFrom } from '../../support/random.ts';
import { CALLERS, type Case } from '../case.ts';
import { mixSeeds, oneIn, weighted } from '../generate/draw.ts';
import { absentAndNull, otherVariables } from '../generate/other-variables.ts';
import { randomCase } from '../generate/random-case.ts';
import type { Stage } from './stage.ts';
import type { Tally } from './tally.ts';
import { disagreement, type Finding, judged, type Tried, tryWay } from './trial.ts';
import { PLAIN_POST, randomWays, type Way } from './ways.ts';

/** So many earlier cases are asked again. */
const REMEMBERED = 100;

/** Cases one after the other, each from the seed of the run and its own number. */
export class Campaign {
  readonly #seed: number;
  readonly #schema: GraphQLSchema;
  readonly #tally: Tally;
  #earlier: Case[] = [];

  constructor(seed: number, schema: GraphQLSchema, tally: Tally) {
    this.#seed = seed;
    this.#schema = schema;
    this.#tally = tally;
  }

  /** Another service begins: it has met none of the cases so far. */
  begin(): void {
    this.#earlier = [];
  }

  /** Tries a case by its number, and some before it again. What is wrong, if anything is. */
  async run(stage: Stage, number: number): Promise<Finding | undefined> {
    const seed = mixSeeds(this.#seed, number);
    const random = randomFrom(mixSeeds(seed, 1));
    const test = randomCase(seed, this.#schema, stage.world.known);
    const cases = [test, ...this.#again(random, stage, test)];
    this.#remember(random, test);
    for (const one of cases) {
      const found = await this.#attempt(stage, random, one);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #remember(random: Random, test: Case): void {
    if (this.#earlier.length < REMEMBERED) this.#earlier.push(test);
    else this.#earlier[random.below(REMEMBERED)] = test;
  }

  /** An earlier case, or its document with other variables, or what came with another: what is kept of it must not be told to the wrong one. */
  #again(random: Random, { world: { known } }: Stage, asked: Case): readonly Case[] {
    // Sure to be kept: it was asked just now.
    if (asked.document.includes('$') && oneIn(random, 2))
      return oneIn(random, 3)
        ? absentAndNull(random, asked)
        : [{ ...asked, variables: otherVariables(random, this.#schema, known, asked) }];
    if (this.#earlier.length === 0 || !oneIn(random, 2)) return [];
    const test = random.pick(this.#earlier);
    const other = random.pick(this.#earlier);
    const again: Case = {
      ...test,
      caller: oneIn(random, 2) ? random.pick(CALLERS) : test.caller,
      variables: weighted(random, [
        [2, () => test.variables],
        [1, () => ({ ...test.variables, ...other.variables })],
        [3, () => otherVariables(random, this.#schema, known, test)],
      ])(),
      operationName: oneIn(random, 8) ? other.operationName : test.operationName,
    };
    return [again];
  }

  async #attempt(stage: Stage, random: Random, test: Case): Promise<Finding | undefined> {
    const { verdict, differences } = judged(stage.world, test);
    for (const difference of differences) return { ...difference, test, way: PLAIN_POST };
    this.#tally.judged(verdict);
    const before: { readonly way: Way; readonly tried: Tried }[] = [];
    for (const way of randomWays(random, test, verdict)) {
      const tried = await tryWay(stage, test, way, verdict.kind === 'mutation' ? undefined : verdict);
      this.#tally.sent(way, tried);
      const [difference] = tried.differences;
      if (difference !== undefined) return { ...difference, test, way };
      // The figures of the cost are part of a response.
      const alike = before.find((earlier) => earlier.way.cost === way.cost);
      const told = alike && verdict.kind === 'query' ? disagreement(alike.tried, tried) : undefined;
      if (alike !== undefined && told !== undefined) return { ...told, test, way, other: alike.way };
      before.push({ way, tried });
    }
    return undefined;
  }
}
