import { createHash, hash } from 'node:crypto';
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  type OperationTypeNode,
  print,
  printSchema,
  type SelectionSetNode,
  stripIgnoredCharacters,
} from 'graphql';
import type { SmallMap } from '../../platform/cache.ts';
import { quoteValue } from '../../platform/errors.ts';
import type { OperationPlans } from '../core/selection.ts';
import type { DocumentAnalysis } from './analysis.ts';
import type { Cost } from './cost.ts';
import type { DeprecatedElements } from './deprecations.ts';

/**
 * Ignored tokens do not count, because clients print a document in different ways. The format is PostgreSQL's format of
 * bytea. The string must parse.
 */
export const digestOf = (text: string): string => `\\x${hash('sha256', stripIgnoredCharacters(text), 'hex')}`;

/** The format is PostgreSQL's format of bytea. */
export function schemaIdOf(schema: GraphQLSchema, introspection: boolean): string {
  const content = createHash('sha256').update(printSchema(schema)).update(String(introspection));
  return `\\x${content.digest('hex')}`;
}

/** A parsed document with the results of later steps, each computed once. */
export class PreparedDocument {
  readonly node: DocumentNode;
  readonly text: string;
  readonly analysis: DocumentAnalysis;
  valid = false;
  #normalised: string | undefined;
  #digest: string | undefined;
  readonly #operations = new Map<OperationDefinitionNode, PreparedOperation>();

  constructor(node: DocumentNode, text: string, analysis: DocumentAnalysis) {
    this.node = node;
    this.text = text;
    this.analysis = analysis;
  }

  /** The document without insignificant white space, commas and comments. */
  get normalised(): string {
    this.#normalised ??= print(this.node);
    return this.#normalised;
  }

  get digest(): string {
    this.#digest ??= digestOf(this.text);
    return this.#digest;
  }

  /** The names of all operations; undefined if no operation has a name. */
  get names(): string | undefined {
    const names = this.operations().flatMap(({ name }) => name ?? []);
    return names.length === 0 ? undefined : names.join(', ');
  }

  operations(): PreparedOperation[] {
    return this.node.definitions.flatMap((node) =>
      node.kind === Kind.OPERATION_DEFINITION ? this.#prepared(node) : [],
    );
  }

  /**
   * Without a name, returns the only operation.
   * @throws {GraphQLError} GRAPHQL_VALIDATION_FAILED if the document has no such operation
   */
  operation(name: string | undefined): PreparedOperation {
    const node = getOperationAST(this.node, name);
    if (node == null) throw noSuchOperation(name);
    return this.#prepared(node);
  }

  #prepared(node: OperationDefinitionNode): PreparedOperation {
    let operation = this.#operations.get(node);
    if (operation === undefined) {
      operation = new PreparedOperation(this, node);
      this.#operations.set(node, operation);
    }
    return operation;
  }
}

/** Variables come with each request. */
export class PreparedOperation {
  readonly document: PreparedDocument;
  readonly node: OperationDefinitionNode;
  readonly kind: OperationTypeNode;
  readonly name: string | undefined;
  readonly plans: OperationPlans;
  /** Keyed by the values of the variables that size or skip something. */
  costs: SmallMap<string, Cost> | undefined = undefined;
  deprecated: DeprecatedElements | undefined = undefined;
  /** True if `__schema` or `__type` may be selected at the root. Every fragment counts as a possible selection. */
  readonly mayIntrospect: boolean;

  constructor(document: PreparedDocument, node: OperationDefinitionNode) {
    const { fragments, conditions, names, countNestedFields } = document.analysis;
    this.document = document;
    this.node = node;
    this.plans = { fragments, conditions, names, nestedFieldCount: countNestedFields(node) };
    this.kind = node.operation;
    this.name = node.name?.value;
    this.mayIntrospect = node.selectionSet.selections.some(
      (selection) =>
        selection.kind !== Kind.FIELD ||
        selection.name.value === '__schema' ||
        selection.name.value === '__type',
    );
  }
}

const META_FIELDS = new Set(['__typename', '__schema', '__type']);

/** True if every root field is a meta field. Each fragment is followed once, because fragments may form a cycle. */
export function onlyLooksAtSchema({ plans: { fragments }, node: operation }: PreparedOperation): boolean {
  const seen = new Set<string>();
  const check = ({ selections }: SelectionSetNode): boolean =>
    selections.every((selection) => {
      if (selection.kind === Kind.FIELD) return META_FIELDS.has(selection.name.value);
      if (selection.kind === Kind.INLINE_FRAGMENT) return check(selection.selectionSet);
      if (seen.has(selection.name.value)) return true;
      seen.add(selection.name.value);
      const fragment = fragments[selection.name.value];
      return fragment !== undefined && check(fragment.selectionSet);
    });
  return check(operation.selectionSet);
}

function noSuchOperation(name: string | undefined): GraphQLError {
  const message =
    name === undefined
      ? 'The document has several operations, or none. Select one with "operationName".'
      : `The document has no operation named ${quoteValue(name)}.`;
  return new GraphQLError(message, { extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } });
}

export interface OperationParams {
  readonly query?: string;
  readonly documentId?: string;
  /** True if `extensions.persistedQuery` alone names the id. */
  readonly persistedQuery?: boolean;
  readonly operationName?: string;
  readonly variables?: Record<string, unknown>;
  readonly extensions?: Record<string, unknown>;
}
