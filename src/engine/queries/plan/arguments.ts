import { getArgumentValues, type VariableValues } from 'graphql';
import { isAuthenticated } from '../../../auth/principal.ts';
import type { Parameter } from '../../../database/statement.ts';
import { type Context, declined } from '../../core/context.ts';
import type { EventRecord } from '../../events/event.ts';
import { type AddParameter, pageShape } from '../page-statement.ts';
import type { Page } from '../pagination.ts';
import { type CallerSql, isToMany } from '../relation.ts';
import { type EdgePlan, isNodeList, objectsOf, showsMore } from './plan.ts';

/** Of an edge that takes none. */
const NONE: EdgeArguments = {};

/** What the arguments of a request ask of an edge. */
export interface EdgeArguments {
  /** The rows of a list. */
  readonly page?: Page;
  /** The id of a row, or the ids of nodes. */
  readonly ids?: Parameter;
  /** The number of ids of several nodes. */
  readonly count?: number;
  /** The parameters of a computed value, by the names of the arguments. */
  readonly parameters?: Readonly<Record<string, Parameter>>;
  /** Who asks, for a computed value that depends on it. */
  readonly caller?: Readonly<Record<keyof CallerSql, Parameter>>;
}

/** What the values of a statement's parameters come from. It holds no plan, whose document may be large. */
export interface Given {
  readonly list: readonly EdgeArguments[];
  /** Of a subscription: the events to write the responses to. */
  readonly events?: readonly EventRecord[];
  /** What confirms the caller. */
  readonly caller?: readonly Parameter[];
}

/** The arguments of all edges of a plan that take some. */
export interface PlanArguments extends Given {
  readonly edges: ReadonlyMap<EdgePlan, EdgeArguments>;
  /** The root fields that are not left to their resolvers. */
  readonly written: ReadonlySet<EdgePlan>;
  /** The part of the arguments that changes the statement's text. */
  readonly shape: string;
}

type EdgeSource = (given: EdgeArguments) => Parameter | undefined;

/** What the SQL of a plan is written with. */
export interface PlanSql extends Pick<PlanArguments, 'edges'> {
  readonly add: AddParameter<Given>;
  /** Adds a parameter whose value comes from the arguments of an edge. Statements keep `source`. */
  readonly ofEdge: (plan: EdgePlan, source: EdgeSource) => string;
}

/** These are outside the functions that add them, so that they do not hold a plan. */
const fromEdge = (index: number, source: EdgeSource) => (given: Given) => {
  const own = given.list[index];
  const value = own && source(own);
  if (value === undefined) throw new Error('the arguments of an edge lack a value that its SQL names');
  return value;
};
export const fromPage =
  (source: (page: Page) => Parameter): EdgeSource =>
  ({ page }) =>
    page && source(page);
export const fromIds: EdgeSource = ({ ids }) => ids;
export const fromParameters =
  (name: string): EdgeSource =>
  ({ parameters }) =>
    parameters?.[name];
export const fromCaller =
  (name: keyof CallerSql): EdgeSource =>
  ({ caller }) =>
    caller?.[name];

/** Requests of the same shape list the arguments of the same edges. */
export function planSql({ edges, list }: PlanArguments, add: AddParameter<Given>): PlanSql {
  const indexOf = new Map(list.map((own, index) => [own, index]));
  return {
    edges,
    add,
    ofEdge: (plan, source) => add(fromEdge(indexOf.get(edges.get(plan) ?? NONE) ?? -1, source)),
  };
}

/** A connection reads one extra row if it has to tell whether the list goes on. */
export function rowsToRead({ connection }: EdgePlan, page: Page): Page {
  const oneMore = connection !== undefined && showsMore(connection, page);
  return oneMore ? { ...page, limit: page.limit + 1 } : page;
}

/** The parameters of `callerSql`. */
function callerParameters({ caller }: Pick<Context, 'caller'>): Readonly<Record<keyof CallerSql, Parameter>> {
  if (!isAuthenticated(caller)) return { id: null, isAdmin: false };
  return { id: caller.userId, isAdmin: caller.role === 'admin' };
}

function idsOf(plan: EdgePlan, ids: readonly (string | undefined)[]): EdgeArguments | undefined {
  if (ids.every((id) => id === undefined)) return undefined;
  return isNodeList(plan) ? { ids: ids.map((id) => id ?? null), count: ids.length } : { ids: ids[0] ?? null };
}

/** Undefined if they are invalid, for example null in a variable with a default, or name no row. */
function edgeArguments(
  plan: EdgePlan,
  variables: VariableValues,
  context: Context,
): EdgeArguments | undefined {
  const { edge, field, node } = plan;
  if (edge.kind === 'one' || edge.kind === 'event') return NONE;
  if (edge.kind === 'value' && edge.parameters === undefined && edge.ofCaller !== true) return NONE;
  try {
    const given = getArgumentValues(field, node, variables);
    if (isToMany(edge)) return { page: edge.page(given) };
    if (edge.kind === 'value')
      return {
        parameters: edge.parameters?.(given) ?? {},
        ...(edge.ofCaller === true ? { caller: callerParameters(context) } : {}),
      };
    return idsOf(plan, edge.kind === 'row' ? [edge.id(given, context)] : edge.ids(given));
  } catch {
    return undefined;
  }
}

/**
 * The arguments of a request. A root field is left to its resolver if `isRefused`, or if arguments in its selection are
 * invalid or name no row.
 */
export function resolveArguments(
  roots: readonly EdgePlan[],
  variables: VariableValues,
  context: Context,
  isRefused: (root: EdgePlan) => boolean,
): PlanArguments {
  const edges = new Map<EdgePlan, EdgeArguments>();
  const written = new Set<EdgePlan>();
  let shape = '';
  const visit = (plan: EdgePlan): boolean => {
    const given = edgeArguments(plan, variables, context);
    if (given === undefined) {
      declined(context, `the arguments of ${plan.field.name} are invalid or name no row`);
      return false;
    }
    if (given !== NONE) edges.set(plan, given);
    shape += given.page === undefined ? ',' : `,${pageShape(rowsToRead(plan, given.page))}`;
    for (const { edges: children } of objectsOf(plan))
      for (const child of children.values()) if (!visit(child)) return false;
    return true;
  };
  for (const root of roots)
    if (!isRefused(root) && visit(root)) written.add(root);
    else shape += '!';
  return { edges, list: [...edges.values()], written, shape };
}
