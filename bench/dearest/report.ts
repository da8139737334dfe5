import { figure, table } from '../report/markdown.ts';
import { allowedMs, type Found, type Measure } from './climb.ts';
import { print } from './print.ts';

const SHOWN_LENGTH = 200;
/** Long values of variables are shown by how long they are. */
const SHOWN_VALUE = 80;

function shortened(text: string): string {
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)} …` : text;
}

/** An operation as a cell of a table. */
function cell({ operation }: Found): string {
  const text = shortened(print(operation, 0).query).replaceAll('|', '\\|');
  return `${operation.keyed ? 'keyed: ' : ''}\`${text}\``;
}

export interface ReportOptions {
  /** How many operations the service took. */
  readonly accepted: number;
  readonly seconds: number;
}

/** The dearest by each measure, each with all that it costs. */
export function report(dearest: ReadonlyMap<Measure, Found>, { accepted, seconds }: ReportOptions): string {
  const ways = table(
    ['dearest by', 'figure', 'points', 'a thousand points', 'operation'],
    [...dearest].map(([measure, found]) => [
      measure.name,
      `${figure(measure.of(found))} ${measure.unit}`.trim(),
      `${found.points}`,
      measure.name.endsWith('points') || measure.unit === '%'
        ? ''
        : figure((measure.of(found) * 1000) / Math.max(1, found.points)),
      cell(found),
    ]),
  );
  const costs = table(
    [
      'dearest by',
      'answer, KiB',
      'database, ms',
      'allowed',
      'keeps to it',
      'node, ms',
      'statements',
      'memory, MiB',
    ],
    [...dearest].map(([measure, { cost }]) => [
      measure.name,
      figure(cost.bytes / 1024),
      figure(cost.databaseMs),
      figure(allowedMs(cost)),
      cost.databaseMs <= allowedMs(cost) ? 'yes' : 'no (!)',
      figure(cost.nodeMs),
      `${cost.statements}`,
      figure(cost.memoryBytes / 1_048_576),
    ]),
  );
  return [`${accepted} operations were accepted in ${seconds} s.`, ways, costs].join('\n\n');
}

/** A value of a variable as text, shortened where it is long. */
function toldOf(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= SHOWN_VALUE ? text : `${text.slice(0, SHOWN_VALUE)} … (${text.length} characters)`;
}

/** The same with every operation in full, as lines of JSON; of its variables, those that are long are shortened. */
export function inFull(title: string, dearest: ReadonlyMap<Measure, Found>): string {
  const lines = [...dearest].map(([measure, { operation, cost, points }]) => {
    const { query, variables } = print(operation, 0);
    const told = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, toldOf(value)]));
    const { keyed } = operation;
    return JSON.stringify({ title, measure: measure.name, points, cost, keyed, query, variables: told });
  });
  return `${lines.join('\n')}\n`;
}
