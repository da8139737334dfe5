import {
  type DocumentNode,
  type GraphQLError,
  getArgumentValues,
  getVariableValues,
  MaxIntrospectionDepthRule,
  type OperationDefinitionNode,
  specifiedRules,
  validate,
  valueFromASTUntyped,
} from 'graphql';
import { type Executed, executed, SCHEMA, type ToExecute } from '../../model/execution.ts';
import { hasRepeatedField } from '../../model/once.ts';
import { lacksAccess } from '../../model/permissions.ts';
import { isMade, stateOf } from '../../model/state.ts';
import { atRoot, rootFields, Walk } from '../../model/walk.ts';
import { type Case, type ExpectedRejection, type ExpectedResponse, MADE, type Verdict } from '../case.ts';
import type { World } from '../world.ts';
import { MAX_TOKENS, type Measured, measure, passed } from './limits.ts';
import { operationOf, ownNames, readText, wrongVariable } from './text.ts';

const always = (code: string, status: number): ExpectedRejection => ({
  code,
  status: { response: status, json: status },
});
/** GraphQL over HTTP, section 6.4: the older media type is always 200. */
const byMediaType = (code: string): ExpectedRejection => ({ code, status: { response: 400, json: 200 } });

const UNAUTHENTICATED = always('UNAUTHENTICATED', 401);
const TOO_MANY_TOKENS = always('GRAPHQL_PARSE_FAILED', 400);
const NOT_PARSED = byMediaType('GRAPHQL_PARSE_FAILED');
const NOT_VALID = byMediaType('GRAPHQL_VALIDATION_FAILED');
const WRONG_VARIABLES = byMediaType('BAD_USER_INPUT');
const limit = (code: string) => always(code, 400);

const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** What is known so far of why a request is rejected. */
class Findings {
  readonly rejections: ExpectedRejection[] = [];
  /** Whether one of them must come. */
  rejected = false;

  must(...rejections: readonly ExpectedRejection[]): void {
    this.rejected = true;
    this.may(...rejections);
  }

  may(...rejections: readonly ExpectedRejection[]): void {
    this.rejections.push(...rejections);
  }

  verdict(kind: Verdict['kind'], cost?: Verdict['cost'], result?: ExpectedResponse): Verdict {
    const { rejections, rejected } = this;
    const opens = kind === 'subscription' && !rejected;
    return { kind, cost, rejections, response: rejected ? undefined : result, opens };
  }
}

/** The first thing looked at: without credentials nobody learns more than the schema tells. */
const isIntrospection = (asked: ToExecute) =>
  rootFields(asked).every(({ name }) => ['__typename', '__schema', '__type'].includes(name.value));

/** Contract section 1: many share a subscription, so it has no field that depends on who asks. */
const asksWhoAsks = (asked: ToExecute) =>
  [...new Walk(asked).all(asked.operation.selectionSet, atRoot(asked))].some(
    ({ field, type, left }) => !left && type?.name === 'User' && field.name.value === 'role',
  );

interface Filters {
  readonly post?: string | null;
  readonly author?: string | null;
  readonly kinds?: readonly string[] | null;
}

/** The filters of `changes`; undefined for another subscription, and for arguments that are none. */
function filtersOf({ variables, ...asked }: ToExecute): Filters | undefined {
  const [node] = rootFields({ variables, ...asked });
  const field = SCHEMA.getSubscriptionType()?.getFields()[node?.name.value ?? ''];
  if (node === undefined || field?.name !== 'changes') return undefined;
  const sources = Object.create(null) as Record<string, never>;
  try {
    return getArgumentValues(field, node, { sources, coerced: variables }) as Filters;
  } catch {
    return undefined;
  }
}

/** Whether a subscription hears of a post that is made. No filter for a post names one that is still to come. */
function hears({ callers }: World, asked: ToExecute): boolean {
  const { post, author, kinds } = filtersOf(asked) ?? {};
  const maker = callers['other-member']?.userId;
  return (
    post == null &&
    (author == null || author.toLowerCase() === maker) &&
    (kinds?.includes('POST_CREATED') ?? true)
  );
}

function validity(findings: Findings, asked: ToExecute): void {
  const errors = validate(SCHEMA, asked.document, specifiedRules);
  if (errors.length === 0) return;
  const tooDeep = validate(SCHEMA, asked.document, [MaxIntrospectionDepthRule]).length;
  if (tooDeep > 0) findings.must(limit('DEPTH_LIMIT'));
  if (tooDeep < errors.length) findings.must(NOT_VALID);
}

/** Contract section 4: an error of an input names it. Where there are too many the last of them only says so. */
function namesOf(errors: readonly GraphQLError[]): Pick<ExpectedRejection, 'oneOf'> {
  const names = errors.map(({ message }) => wrongVariable(message));
  return names.length > 10 || names.includes(undefined)
    ? {}
    : { oneOf: names.filter((name) => name !== undefined) };
}

function limits(findings: Findings, measured: Measured): void {
  const { surely, perhaps } = passed(measured);
  findings.may(...[...perhaps].map(limit));
  if (surely.size > 0) findings.rejected = true;
}

function costOf({ complexity, depth }: Measured): Verdict['cost'] {
  if (complexity[0] !== complexity[1] || depth[0] !== depth[1]) return undefined;
  return { complexity: complexity[0], depth: depth[0] };
}

const bytesOf = (result: ExpectedResponse) =>
  Buffer.byteLength(
    JSON.stringify(result.data, (_, value: unknown) => (typeof value === 'symbol' ? '' : value)),
  );

/** The defaults of variables as they stand in the text: what one variable has wrong leaves the others theirs. */
function defaultsOf({ variableDefinitions = [] }: OperationDefinitionNode): Record<string, unknown> {
  const defaults: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions)
    if (defaultValue !== undefined) defaults[variable.name.value] = valueFromASTUntyped(defaultValue);
  return defaults;
}

function askedBy(world: World, test: Case, document: DocumentNode, operation: OperationDefinitionNode) {
  const inputs = ownNames(JSON.parse(JSON.stringify(test.variables ?? {})) as Record<string, unknown>);
  const given = getVariableValues(SCHEMA, operation.variableDefinitions ?? [], inputs);
  const caller = world.callers[test.caller];
  const variables = given.variableValues?.coerced ?? { ...defaultsOf(operation), ...inputs };
  const { cursors, places, tagPlaces, password } = world;
  const asked: ToExecute = {
    ...{ schema: SCHEMA, document, operation, variables, inputs },
    ...{ caller, state: stateOf(world.snapshot), cursors, places, tagPlaces, password },
  };
  return { asked, given };
}

/** The data with `MADE` for what stands for it. */
function withMade(value: unknown): unknown {
  if (isMade(value)) return MADE;
  if (Array.isArray(value)) return value.map(withMade);
  if (typeof value !== 'object' || value === null) return value;
  return Object.assign(
    Object.create(null) as object,
    Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withMade(member)])),
  );
}

const readResponse = ({ data, errors }: Executed): ExpectedResponse => ({ data: withMade(data), errors });

/** What an open stream must tell of a post that is made, when the world is as its snapshot after that. */
export function judgeEvent(world: World, test: Case, postId: string): Verdict {
  const { document } = readText(test.document);
  const operation = document && operationOf(document, test.operationName);
  const event = world.snapshot.posts.find(({ id }) => id === postId);
  if (document === undefined || operation === undefined || event === undefined)
    throw new Error('an event of no post, or for no subscription');
  const { asked } = askedBy(world, test, document, operation);
  const change = { kind: 'POST_CREATED', postId, commentId: null, at: event.createdAt };
  const shown = rootFields(asked)[0]?.name.value === 'changes' ? change : event;
  const result = readResponse(executed({ ...asked, event: shown }));
  return { ...new Findings().verdict(operation.operation, costOf(measure(asked)), result), opens: false };
}

/** What the contract says must come back for a case, when the world is as its snapshot. */
export function judge(world: World, test: Case): Verdict {
  const findings = new Findings();
  if (test.caller === 'stranger') {
    findings.must(UNAUTHENTICATED);
    return findings.verdict(undefined);
  }
  const anonymous = test.caller === 'nobody';
  const { document, tooManyTokens, tooLongName, perhaps } = readText(test.document);
  const operation = document && operationOf(document, test.operationName);
  if (anonymous) findings.may(UNAUTHENTICATED);
  if (tooManyTokens) findings.must(TOO_MANY_TOKENS);
  if (tooLongName) findings.must(limit('COMPLEXITY_LIMIT'));
  if (document === undefined) {
    findings.must(NOT_PARSED);
    // A text that is also too large is rejected for that.
    findings.may(limit('COMPLEXITY_LIMIT'), limit('DEPTH_LIMIT'));
    // What comes after the first mistake may be counted.
    if (test.document.length > MAX_TOKENS) findings.may(TOO_MANY_TOKENS);
    findings.may(...perhaps.map(limit));
    return anonymous ? only(UNAUTHENTICATED) : findings.verdict(undefined);
  }
  if (operation === undefined) {
    findings.must(NOT_VALID, WRONG_VARIABLES, always('BAD_REQUEST', 400));
    // A look at the text counts all operations together.
    findings.may(limit('COMPLEXITY_LIMIT'), limit('DEPTH_LIMIT'));
    return findings.verdict(undefined);
  }
  const kind = operation.operation;
  const { asked, given } = askedBy(world, test, document, operation);
  const { caller } = asked;
  if (anonymous && !isIntrospection(asked)) return only(UNAUTHENTICATED, kind);
  validity(findings, asked);
  const valid = !findings.rejected;
  if (!valid) findings.may(...perhaps.map(limit));
  const measured = measure(asked);
  limits(findings, measured);
  if (given.errors !== undefined) findings.must({ ...WRONG_VARIABLES, ...namesOf(given.errors) });
  const cost = valid && given.errors === undefined ? costOf(measured) : undefined;
  if (kind === 'subscription') {
    if (asksWhoAsks(asked)) findings.must(WRONG_VARIABLES);
    if (caller?.scopes.has('posts:read') !== true) findings.must(always('FORBIDDEN', 403));
    // An argument that is wrong is found before the stream opens.
    if (filtersOf(asked)?.kinds?.length === 0) findings.must(WRONG_VARIABLES);
    return { ...findings.verdict(kind, cost), hears: hears(world, asked) };
  }
  if (findings.rejected) return findings.verdict(kind, cost);
  const lacks = kind === 'mutation' && lacksAccess(asked, asked);
  if (hasRepeatedField(asked)) {
    findings.must(WRONG_VARIABLES);
    return { ...findings.verdict(kind, cost), lacks };
  }
  const done = executed(asked);
  const result = readResponse(done);
  if (bytesOf(result) > MAX_ANSWER_BYTES) findings.must(limit('COMPLEXITY_LIMIT'));
  return {
    ...withoutCredentials(findings, anonymous).verdict(kind, cost, result),
    lacks,
    leaves: done.state,
  };
}

/**
 * A document that only introspects needs no credentials where nothing is wrong with it. Where it may be rejected for a
 * limit, it may be rejected for its credentials before.
 */
function withoutCredentials(findings: Findings, anonymous: boolean): Findings {
  if (anonymous && findings.rejections.every((rejection) => rejection === UNAUTHENTICATED))
    findings.rejections.length = 0;
  return findings;
}

function only(rejection: ExpectedRejection, kind?: Verdict['kind']): Verdict {
  return { kind, cost: undefined, rejections: [rejection], response: undefined };
}
