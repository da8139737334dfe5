import { setTimeout as delay } from 'node:timers/promises';
import type { TestApp } from '../../support/app.ts';
import { readMetricBy } from '../../support/metrics.ts';
import type { Verdict } from '../case.ts';
import type { Tried } from './trial.ts';
import { routeOf, type Way } from './ways.ts';

/** `/metrics` is up to a tenth of a second old. */
const METRICS_AGE_MS = 150;

function add(counts: Map<string, number>, name: string, count = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

const lines = (title: string, counts: ReadonlyMap<string, number>) => {
  const rows = [...counts].sort(([, a], [, b]) => b - a);
  return [`${title}:`, ...rows.map(([name, count]) => `  ${String(count).padStart(8)}  ${name}`)].join('\n');
};

/** What became of the cases of a run. */
export class Tally {
  cases = 0;
  requests = 0;
  readonly outcomes = new Map<string, number>();
  readonly routes = new Map<string, number>();
  readonly paths = new Map<string, number>();

  /** Counts a case, by what the contract says of it. */
  judged({ response, rejections, kind }: Verdict): void {
    this.cases += 1;
    const [rejection] = rejections;
    if (response !== undefined) {
      const codes = new Set(
        response.errors.flatMap(({ oneOf }) => oneOf.slice(0, 1).map(({ code }) => code)),
      );
      const ending = codes.size === 0 ? '' : `, with ${[...codes].sort().join(' and ')}`;
      add(this.outcomes, `${kind} ${response.data === null ? 'without data' : 'with data'}${ending}`);
    } else add(this.outcomes, rejection === undefined ? `${kind} that opens` : `refused, ${rejection.code}`);
  }

  sent(way: Way, { reply }: Tried): void {
    this.requests += way.keyed ? 2 : 1;
    add(this.routes, `${routeOf(way)}${reply === undefined ? ', no answer' : ''}`);
  }

  /** Adds the paths that the operations of a service took, by its own metric. */
  async notePaths({ app }: TestApp): Promise<void> {
    await delay(METRICS_AGE_MS);
    for (const [path, count] of await readMetricBy(
      app,
      'content_graph_graphql_execution_paths_total',
      'path',
    ))
      add(this.paths, path, count);
  }

  toString(): string {
    return [
      `${this.cases} cases, ${this.requests} requests.`,
      lines('What the contract says of the cases', this.outcomes),
      lines('The ways of the requests', this.routes),
      lines('The paths of the operations (content_graph_graphql_execution_paths_total)', this.paths),
    ].join('\n');
  }
}
