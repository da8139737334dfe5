import { getArgumentValues, type VariableValues } from 'graphql';
import { isAuthenticated } from '../../../auth/principal.ts';
import type { Scope } from '../../../auth/scopes.ts';
import type { Parameter } from '../../../database/statement.ts';
import { type Context, recordFallback } from '../../core/context.ts';
import type { EventRecord } from '../../events/event.ts';
import { type AddParameter, checksRows, pageShape } from '../page-statement.ts';
import type { PageRange } from '../pagination.ts';
import { type CallerSql, isToMany } from '../sql-mappings.ts';
import { type FieldPlan, isNodeList, objectsOf, showsMore } from './plan.ts';

const NONE: FieldArguments = {};

export interface FieldArguments {
  readonly page?: PageRange;
  readonly ids?: Parameter;
  readonly count?: number;
  readonly parameters?: Readonly<Record<string, Parameter>>;
  /** The caller's account by the scopes of private nodes; null for a scope that the caller lacks. */
  readonly accounts?: ReadonlyMap<Scope, string | null>;
  /** Set if the computed value depends on the caller. */
  readonly caller?: Readonly<Record<keyof CallerSql, Parameter>>;
}

/** The values of a statement's parameters. The object holds no plan, because the document of a plan may be large. */
export interface Given {
  readonly list: readonly FieldArguments[];
  readonly events?: readonly EventRecord[];
  readonly caller?: readonly Parameter[];
}

export interface PlanArguments extends Given {
  readonly byField: ReadonlyMap<FieldPlan, FieldArguments>;
  /** The root fields that the database writes. */
  readonly written: ReadonlySet<FieldPlan>;
  /** The part of the arguments that changes the SQL. */
  readonly shape: string;
}

type ParameterSource = (given: FieldArguments) => Parameter | undefined;

export interface PlanSql extends Pick<PlanArguments, 'byField'> {
  readonly add: AddParameter<Given>;
  /** Adds a parameter whose value comes from the arguments of a field. Statements retain `source`. */
  readonly forField: (plan: FieldPlan, source: ParameterSource) => string;
}

/** These functions are outside their callers, so that statements retain no plan. */
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
export const fromAccounts =
  (scope: Scope): ParameterSource =>
  ({ accounts }) =>
    accounts?.get(scope);
export const fromCaller =
  (name: keyof CallerSql): ParameterSource =>
  ({ caller }) =>
    caller?.[name];

export function planSql({ byField, list }: PlanArguments, add: AddParameter<Given>): PlanSql {
  const indexOf = new Map(list.map((own, index) => [own, index]));
  return {
    byField,
    add,
    forField: (plan, source) => add(fromField(indexOf.get(byField.get(plan) ?? NONE) ?? -1, source)),
  };
}

/**
 * One extra row shows if the list of a connection continues. A page whose rows are checked always has the extra row, so
 * that the selection does not change how many rows are checked.
 */
export function rowsToRead({ connection, mapping }: FieldPlan, page: PageRange): PageRange {
  const isChecked = isToMany(mapping) && checksRows(mapping.list, page);
  const oneMore = connection !== undefined && (isChecked || showsMore(connection, page));
  return oneMore ? { ...page, limit: page.limit + 1 } : page;
}

function callerParameters({ caller }: Pick<Context, 'caller'>): Readonly<Record<keyof CallerSql, Parameter>> {
  if (!isAuthenticated(caller)) return { id: null, isAdmin: false };
  return { id: caller.userId, isAdmin: caller.role === 'admin' };
}

function accountsOf({ types = [] }: FieldPlan, { caller }: Context): FieldArguments {
  const userId = isAuthenticated(caller) ? caller.userId : null;
  const scopes = types.flatMap(({ owner }) => owner?.scope ?? []);
  return { accounts: new Map(scopes.map((scope) => [scope, caller.scopes.has(scope) ? userId : null])) };
}

function idsOf(plan: FieldPlan, ids: readonly (string | undefined)[]): FieldArguments | undefined {
  if (ids.every((id) => id === undefined)) return undefined;
  return isNodeList(plan) ? { ids: ids.map((id) => id ?? null), count: ids.length } : { ids: ids[0] ?? null };
}

/** Undefined if the arguments name no row or are invalid, for example null in a variable with a default. */
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
    if (mapping.kind === 'row') return idsOf(plan, [mapping.id(given, context)]);
    const ids = idsOf(plan, mapping.ids(given));
    return ids && { ...ids, ...accountsOf(plan, context) };
  } catch {
    return undefined;
  }
}

/**
 * Evaluates the arguments of a request. A resolver executes a root field that is rejected, or whose selection has
 * arguments that are invalid or name no row.
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
