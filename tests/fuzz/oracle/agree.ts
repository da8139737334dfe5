import type { ExpectedError, NulledPlace } from '../../model/execution.ts';
import { MADE, type Statuses, type Verdict } from '../case.ts';

interface ToldError {
  readonly path?: readonly (string | number)[];
  readonly extensions: { readonly code: string; readonly argument?: string };
}

/** A response as JSON has it. */
export interface ReportedResponse {
  readonly status: number;
  /** Which of the two media types was accepted. */
  readonly accepted: keyof Statuses;
  /** Absent where the response has no such member. */
  readonly data?: unknown;
  readonly errors?: readonly ToldError[] | undefined;
  /** Of `extensions`, where the request asked for it. */
  readonly cost?: { readonly complexity: number; readonly depth: number } | undefined;
}

const shown = (value: unknown) =>
  JSON.stringify(value, (_, member: unknown) => (typeof member === 'symbol' ? 'MADE' : member))?.slice(
    0,
    300,
  );

/** The first place at which the data differ; undefined where they agree, the order of members included. */
export function difference(expected: unknown, told: unknown, path = 'data'): string | undefined {
  if (expected === MADE)
    return told === null || typeof told === 'string' ? undefined : `${path} is no text: ${shown(told)}`;
  const isObject = (value: unknown) => typeof value === 'object' && value !== null;
  if (!isObject(expected) || !isObject(told))
    return Object.is(expected, told) ? undefined : `${path} is ${shown(told)} and not ${shown(expected)}`;
  const [left, right] = [Object.entries(expected as object), Object.entries(told as object)];
  const [names, toldNames] = [left.map(([name]) => name), right.map(([name]) => name)];
  if (Array.isArray(expected) !== Array.isArray(told) || JSON.stringify(names) !== JSON.stringify(toldNames))
    return `${path} has ${shown(toldNames)} and not ${shown(names)}`;
  for (const [index, [name, value]] of left.entries()) {
    const found = difference(value, right[index]?.[1], `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isTold = (expected: ExpectedError, { path, extensions }: ToldError) =>
  expected.code === extensions.code &&
  shown(expected.path) === shown(path) &&
  (expected.argument === undefined || expected.argument === extensions.argument);

/** Each place once, unless it is optional, and nothing beside them. */
function errorsDiffer(places: readonly NulledPlace[], told: readonly ToldError[]): boolean {
  const meant = told.map((error) => places.findIndex(({ oneOf }) => oneOf.some((one) => isTold(one, error))));
  const missing = places.some(({ optional }, index) => !optional && !meant.includes(index));
  return missing || meant.includes(-1) || new Set(meant).size < meant.length;
}

function responseDiffers({ response }: Verdict, told: ReportedResponse): string | undefined {
  if (response === undefined) return 'it is no refusal that was expected';
  const errors = told.errors ?? [];
  if (errorsDiffer(response.errors, errors))
    return `the errors are ${shown(errors.map(({ path, extensions }) => ({ path, extensions })))} and not ${shown(response.errors)}`;
  const forbidden = told.data === null && errors.every(({ extensions }) => extensions.code === 'FORBIDDEN');
  const status = forbidden && errors.length > 0 ? 403 : 200;
  if (told.status !== status) return `the status is ${told.status} and not ${status}`;
  return difference(response.data, told.data);
}

/** A subscription is rejected by its field, which the error names then. */
function isRejectedSo(
  { rejections, kind }: Verdict,
  { status, accepted, data, errors = [] }: ReportedResponse,
): boolean {
  return rejections.some(
    (rejection) =>
      data == null &&
      errors.length > 0 &&
      rejection.status[accepted] === status &&
      errors.every(
        ({ extensions, path }) =>
          extensions.code === rejection.code && (path === undefined || kind === 'subscription'),
      ),
  );
}

/** What of a response is not as the verdict has it; undefined where all of it is. */
export function disagreement(verdict: Verdict, told: ReportedResponse): string | undefined {
  const { cost } = verdict;
  const stands = isRejectedSo(verdict, told) ? undefined : responseDiffers(verdict, told);
  if (stands !== undefined)
    return `${stands} (${told.status}, ${shown(told.errors)}; refusals: ${shown(verdict.rejections)})`;
  if (cost === undefined || told.cost === undefined) return undefined;
  const same = cost.complexity === told.cost.complexity && cost.depth === told.cost.depth;
  return same ? undefined : `the cost is ${shown(told.cost)} and not ${shown(cost)}`;
}
