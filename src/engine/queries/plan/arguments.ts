import { getArgumentValues, type VariableValues } from 'graphql';
import { isAuthenticated } from '../../../auth/principal.ts';
import type { Parameter } from '../../../database/statement.ts';
import { type Context, recordFallback } from '../../core/context.ts';
import type { EventRecord } from '../../events/event.ts';
import { type AddParameter, pageShape } from '../page-statement.ts';
import type { PageRange } from '../pagination.ts';
import { type CallerSql, isToMany } from '../sql-mappings.ts';
import { type FieldPlan, isNodeList, objectsOf, showsMore } from './plan.ts';

/** Of a field that takes none. */
const NONE: FieldArguments = {};

/** What the arguments of a request ask of a field. */
export interface FieldArguments {
  /** The rows of a list. */
  readonly page?: PageRange;
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
  readonly list: readonly FieldArguments[];
  /** Of a subscription: the events to write the responses to. */
  readonly events?: readonly EventRecord[];
  /** The values that verify the caller's session. */
  readonly caller?: readonly Parameter[];
}

/** The arguments of all fields of a plan that take some. */
export interface PlanArguments extends Given {
  readonly byField: ReadonlyMap<FieldPlan, FieldArguments>;
  /** The root fields that are not left to their resolvers. */
  readonly written: ReadonlySet<FieldPlan>;
  /** The part of the arguments that changes the statement's text. */
  readonly shape: string;
}

type ParameterSource = (given: FieldArguments) => Parameter | undefined;

/** What the SQL of a plan is written with. */
export interface PlanSql extends Pick<PlanArguments, 'byField'> {
  readonly add: AddParameter<Given>;
  /** Adds a parameter whose value comes from the arguments of a field. Statements keep `source`. */
  readonly forField: (plan: FieldPlan, source: ParameterSource) => string;
}

/** These are outside the functions that add them, so that they do not hold a plan. */
const fromField = (index: number, source: ParameterSource) => (given: Given) => {
  const own = given.list[index];
  const value = own && source(own);
  if (value === undefined) throw new Error('the arguments of a field lack a value that its SQL names');
  return value;
};
export const fromPage =
  (source: (page: PageRange) => Parameter): ParameterSource =>
  ({ page }) =>
    page && source(page);
export const fromIds: ParameterSource = ({ ids }) => ids;
export const fromParameters =
  (name: string): ParameterSource =>
  ({ parameters }) =>
    parameters?.[name];
export const fromCaller =
  (name: keyof CallerSql): ParameterSource =>
  ({ caller }) =>
    caller?.[name];

/** Requests of the same shape list the arguments of the same fields. */
export function planSql({ byField, list }: PlanArguments, add: AddParameter<Given>): PlanSql {
  const indexOf = new Map(list.map((own, index) => [own, index]));
  return {
    byField,
    add,
    forField: (plan, source) => add(fromField(indexOf.get(byField.get(plan) ?? NONE) ?? -1, source)),
  };
}

/** A connection reads one extra row if it has to tell whether the list goes on. */
export function rowsToRead({ connection }: FieldPlan, page: PageRange): PageRange {
  const oneMore = connection !== undefined && showsMore(connection, page);
  return oneMore ? { ...page, limit: page.limit + 1 } : page;
}

/** The parameters of `callerSql`. */
function callerParameters({ caller }: Pick<Context, 'caller'>): Readonly<Record<keyof CallerSql, Parameter>> {
  if (!isAuthenticated(caller)) return { id: null, isAdmin: false };
  return { id: caller.userId, isAdmin: caller.role === 'admin' };
}

function idsOf(plan: FieldPlan, ids: readonly (string | undefined)[]): FieldArguments | undefined {
  if (ids.every((id) => id === undefined)) return undefined;
  return isNodeList(plan) ? { ids: ids.map((id) => id ?? null), count: ids.length } : { ids: ids[0] ?? null };
}

/** Undefined if they are invalid, for example null in a variable with a default, or name no row. */
function evaluateArguments(
  plan: FieldPlan,
  variables: VariableValues,
  context: Context,
): FieldArguments | undefined {
  const { mapping, field, node } = plan;
  if (mapping.kind === 'one' || mapping.kind === 'event') return NONE;
  if (mapping.kind === 'value' && mapping.parameters === undefined && mapping.ofCaller !== true) return NONE;
  try {
    const given = getArgumentValues(field, node, variables);
    if (isToMany(mapping)) return { page: mapping.page(given) };
    if (mapping.kind === 'value')
      return {
        parameters: mapping.parameters?.(given) ?? {},
        ...(mapping.ofCaller === true ? { caller: callerParameters(context) } : {}),
      };
    return idsOf(plan, mapping.kind === 'row' ? [mapping.id(given, context)] : mapping.ids(given));
  } catch {
    return undefined;
  }
}

/**
 * The arguments of a request. A root field is left to its resolver if `isRefused`, or if arguments in its selection are
 * invalid or name no row.
 */
export function resolveArguments(
  roots: readonly FieldPlan[],
  variables: VariableValues,
  context: Context,
  isRejected: (root: FieldPlan) => boolean,
): PlanArguments {
  const byField = new Map<FieldPlan, FieldArguments>();
  const written = new Set<FieldPlan>();
  let shape = '';
  const visit = (plan: FieldPlan): boolean => {
    const given = evaluateArguments(plan, variables, context);
    if (given === undefined) {
      recordFallback(context, `the arguments of ${plan.field.name} are invalid or name no row`);
      return false;
    }
    if (given !== NONE) byField.set(plan, given);
    shape += given.page === undefined ? ',' : `,${pageShape(rowsToRead(plan, given.page))}`;
    for (const { fieldPlans: children } of objectsOf(plan))
      for (const child of children.values()) if (!visit(child)) return false;
    return true;
  };
  for (const root of roots)
    if (!isRejected(root) && visit(root)) written.add(root);
    else shape += '!';
  return { byField, list: [...byField.values()], written, shape };
}
