import {
  type ArgumentNode,
  type ASTNode,
  type DirectiveNode,
  type DocumentNode,
  type ExecutableDefinitionNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  type GraphQLSchema,
  getEnterLeaveForKind,
  Kind,
  MaxIntrospectionDepthRule,
  type NameNode,
  print,
  type SelectionSetNode,
  TypeInfo,
  ValidationContext,
  visit,
} from 'graphql';
import { countedArguments } from '../core/field-options.ts';
import type { Fragments } from '../core/selection.ts';
import { SIZE_ARGUMENTS } from './cost.ts';

function renames(prefix: string): (name: NameNode) => NameNode {
  const given = new Map<string, string>();
  return (name) => {
    const known = given.get(name.value) ?? `${prefix}${given.size + 1}`;
    given.set(name.value, known);
    return { ...name, value: known };
  };
}

/**
 * Prints a valid document without names and values that a client chose, such as aliases and strings. The result is on
 * one line, so that equal shapes are equal strings.
 */
export function shapeOf(document: DocumentNode): string {
  const variable = renames('v');
  const fragment = renames('F');
  const shape: ASTNode = visit(document, {
    [Kind.OPERATION_DEFINITION]: (node) => ({ ...node, name: undefined }),
    [Kind.FIELD]: (node) => ({ ...node, alias: undefined }),
    [Kind.VARIABLE]: (node) => ({ ...node, name: variable(node.name) }),
    [Kind.FRAGMENT_SPREAD]: (node) => ({ ...node, name: fragment(node.name) }),
    [Kind.FRAGMENT_DEFINITION]: (node) => ({ ...node, name: fragment(node.name) }),
    [Kind.INT]: (node) => ({ ...node, value: '0' }),
    [Kind.FLOAT]: (node) => ({ ...node, value: '0' }),
    [Kind.STRING]: (node) => ({ ...node, value: '', block: false }),
  });
  return print(shape).replaceAll(/\s+/g, ' ');
}

interface FieldMergeCost {
  /** Fields with fragments expanded. Counting stops shortly after the limit. */
  readonly fields: number;
  /** Pairs within one selection that validation compares, which are fields with equal response names, and fragments. */
  readonly pairs: number;
}

export const pairsOf = (count: number) => (count * (count - 1)) / 2;

/**
 * Counts the comparisons of the rule Field Selection Merging. They grow with the square of the repetitions, so
 * validating a document of a thousand tokens could take longer than running a large query. The fragments must not form
 * a cycle.
 */
function computeFieldMergeCost(
  { definitions }: DocumentNode,
  fragments: Fragments,
  maxFields: number,
): FieldMergeCost {
  let fields = 0;
  let pairs = 0;

  function merge(sets: readonly SelectionSetNode[]): void {
    const found = new Map<string, { count: number; sets: SelectionSetNode[] }>();
    const spreads = new Set<string>();

    function collect({ selections }: SelectionSetNode): void {
      for (const node of selections) {
        if (fields > maxFields) return;
        if (node.kind === Kind.FIELD) {
          fields += 1;
          const name = node.alias?.value ?? node.name.value;
          let same = found.get(name);
          if (same === undefined) {
            same = { count: 0, sets: [] };
            found.set(name, same);
          }
          same.count += 1;
          if (node.selectionSet !== undefined) same.sets.push(node.selectionSet);
        } else if (node.kind === Kind.INLINE_FRAGMENT) collect(node.selectionSet);
        else if (!spreads.has(node.name.value)) {
          spreads.add(node.name.value);
          const fragment = fragments[node.name.value];
          if (fragment !== undefined) collect(fragment.selectionSet);
        }
      }
    }

    for (const set of sets) collect(set);
    pairs += pairsOf(spreads.size);
    for (const { count, sets: inner } of found.values()) {
      pairs += pairsOf(count);
      if (inner.length > 0) merge(inner);
    }
  }

  for (const definition of definitions)
    if (definition.kind === Kind.OPERATION_DEFINITION || definition.kind === Kind.FRAGMENT_DEFINITION)
      merge([definition.selectionSet]);
  return { fields, pairs };
}

interface Outline {
  nestedFields: number;
  readonly spreads: FragmentSpreadNode[];
}

/**
 * Runs a rule of graphql-js on the introspection fields only, because a full validation takes several times as long.
 */
function goesTooDeep(schema: GraphQLSchema, document: DocumentNode, roots: readonly FieldNode[]): boolean {
  if (roots.length === 0) return false;
  let tooDeep = false;
  const context = new ValidationContext(schema, document, new TypeInfo(schema), () => {
    tooDeep = true;
  });
  const visitor = MaxIntrospectionDepthRule(context);
  const { enter } = getEnterLeaveForKind(visitor, Kind.FIELD);
  for (const root of roots) enter?.call(visitor, root, undefined, undefined, [], []);
  return tooDeep;
}

export function fragmentsOf({ definitions }: DocumentNode): Fragments {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const node of definitions)
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments[node.name.value] = node;
  return fragments;
}

/** Analyzes a document in one pass, because the visitor of graphql-js takes several times as long. */
export function analyzeDocument(schema: GraphQLSchema, document: DocumentNode, maxFields: number) {
  const counted = countedArguments(schema);
  const fragments = fragmentsOf(document);
  const outlines = new Map<ExecutableDefinitionNode, Outline>();
  const names = new Set<string>();
  const conditions = new Set<string>();
  const sizes = new Set<string>();
  const introspections: FieldNode[] = [];
  let aliases = 0;
  let directives = 0;

  function lookAtDirectives(list: readonly DirectiveNode[]): void {
    directives += list.length;
    for (const { arguments: args = [] } of list)
      for (const { value } of args) if (value.kind === Kind.VARIABLE) conditions.add(value.name.value);
  }

  function lookAtArguments(args: readonly ArgumentNode[]): void {
    for (const { name, value } of args)
      if (value.kind === Kind.VARIABLE && (SIZE_ARGUMENTS.has(name.value) || counted.has(name.value)))
        sizes.add(value.name.value);
  }

  function lookAt({ selections }: SelectionSetNode, outline: Outline): void {
    for (const node of selections) {
      if (node.directives !== undefined) lookAtDirectives(node.directives);
      if (node.kind === Kind.FRAGMENT_SPREAD) outline.spreads.push(node);
      else {
        if (node.kind === Kind.FIELD) {
          const name = node.name.value;
          names.add(name);
          if (name === '__schema' || name === '__type') introspections.push(node);
          if (node.alias !== undefined) aliases += 1;
          if (node.arguments !== undefined) lookAtArguments(node.arguments);
          if (node.selectionSet !== undefined) outline.nestedFields += 1;
        }
        if (node.selectionSet !== undefined) lookAt(node.selectionSet, outline);
      }
    }
  }

  for (const definition of document.definitions) {
    if (definition.kind !== Kind.FRAGMENT_DEFINITION && definition.kind !== Kind.OPERATION_DEFINITION)
      continue;
    const outline: Outline = { nestedFields: 0, spreads: [] };
    outlines.set(definition, outline);
    for (const { directives: own = [] } of [definition, ...(definition.variableDefinitions ?? [])])
      directives += own.length;
    lookAt(definition.selectionSet, outline);
  }

  const expanded = new Map<ExecutableDefinitionNode, number | 'open'>();
  let cycle: FragmentSpreadNode | undefined;
  let mergeCost: FieldMergeCost | undefined;
  function expand(definition: ExecutableDefinitionNode): number {
    const known = expanded.get(definition);
    if (typeof known === 'number') return known;
    expanded.set(definition, 'open');
    const outline = outlines.get(definition);
    let nestedFields = outline?.nestedFields ?? 0;
    for (const spread of outline?.spreads ?? []) {
      const fragment = fragments[spread.name.value];
      if (fragment === undefined) continue;
      if (expanded.get(fragment) === 'open') cycle = spread;
      else nestedFields += expand(fragment);
    }
    expanded.set(definition, nestedFields);
    return nestedFields;
  }
  for (const definition of outlines.keys()) expand(definition);

  return {
    fragments,
    /** The variables in directives. */
    conditions: [...conditions],
    /** The variables that affect the cost are in directives and in arguments that size a list. */
    costVariables: [...new Set([...conditions, ...sizes])],
    aliases,
    directives,
    names,
    /** The spread that closes a cycle of fragments. */
    cycle,
    /** Fragments are expanded. */
    countNestedFields: expand,
    introspectionTooDeep: goesTooDeep(schema, document, introspections),
    /** Must not be called if fragments form a cycle. */
    mergeCost(): FieldMergeCost {
      mergeCost ??= computeFieldMergeCost(document, fragments, maxFields);
      return mergeCost;
    },
  };
}

export type DocumentAnalysis = ReturnType<typeof analyzeDocument>;
