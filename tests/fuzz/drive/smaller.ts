import { type ASTNode, type DocumentNode, Kind, parse, print, visit } from 'graphql';
import { CALLERS, type Case } from '../case.ts';

type Loose = ASTNode & Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && 'kind' in value && typeof value.kind === 'string';

/** Parts that a node does without. */
const OPTIONAL = ['alias', 'defaultValue', 'typeCondition', 'variableDefinitions', 'directives', 'arguments'];

/** The list without parts of it, the largest first. */
export function* shorter<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let size = list.length; size >= 1; size = Math.floor(size / 2))
    for (let at = 0; at < list.length; at += size) yield [...list.slice(0, at), ...list.slice(at + size)];
}

/** Shorter names and texts, which mean as little as they can. */
function* shorterText(text: string): Generator<string> {
  for (const short of [
    '',
    'a',
    'b',
    text.slice(0, text.length / 2),
    text.slice(text.length / 2),
    text.slice(1),
  ])
    if (short.length < text.length) yield short;
}

/** What may stand in a node's place by itself. */
function* inPlace(node: Loose): Generator<Loose> {
  if (node.kind === Kind.NAME) {
    for (const value of shorterText(node.value)) if (value !== '') yield { ...node, value };
  } else if (node.kind === Kind.STRING) {
    if (node.block === true) yield { ...node, block: false };
    for (const value of shorterText(node.value)) yield { ...node, value };
  } else if (node.kind === Kind.INT) {
    for (const value of ['0', '1', '2'])
      if (value < node.value || value.length < node.value.length) yield { ...node, value };
  } else if (node.kind === Kind.NON_NULL_TYPE) yield node.type as Loose;
  for (const name of OPTIONAL) {
    const part = node[name];
    if (part !== undefined && !(Array.isArray(part) && part.length === 0))
      yield { ...node, [name]: undefined };
  }
}

/** The selections with what a fragment holds in the place of the fragment. */
function* spreadOut(
  list: readonly unknown[],
  fragments: ReadonlyMap<string, Loose>,
): Generator<readonly unknown[]> {
  for (const [at, node] of list.entries()) {
    if (!isNode(node)) continue;
    const named = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : undefined;
    const holder = node.kind === Kind.INLINE_FRAGMENT ? node : named;
    const set = holder?.selectionSet;
    if (isNode(set) && set.kind === Kind.SELECTION_SET)
      yield [...list.slice(0, at), ...set.selections, ...list.slice(at + 1)];
  }
}

/** The node with one thing changed in it, the greatest changes first. */
function* variants(node: Loose, fragments: ReadonlyMap<string, Loose>): Generator<Loose> {
  for (const [name, part] of Object.entries(node))
    if (Array.isArray(part)) {
      for (const list of shorter(part)) yield { ...node, [name]: list };
      for (const list of spreadOut(part, fragments)) yield { ...node, [name]: list };
    }
  yield* inPlace(node);
  for (const [name, part] of Object.entries(node)) {
    if (name === 'loc') continue;
    if (Array.isArray(part)) {
      for (const [at, item] of part.entries())
        if (isNode(item))
          for (const variant of variants(item, fragments))
            yield { ...node, [name]: [...part.slice(0, at), variant, ...part.slice(at + 1)] };
    } else if (isNode(part))
      for (const variant of variants(part, fragments)) yield { ...node, [name]: variant };
  }
}

/** Undefined where the text is no document. */
function parsed(text: string): DocumentNode | undefined {
  try {
    return parse(text, { noLocation: true });
  } catch {
    return undefined;
  }
}

/** The names of all nodes of a kind below a node. */
function namesOf(node: ASTNode, kind: Kind.FRAGMENT_SPREAD | Kind.VARIABLE): ReadonlySet<string> {
  const names = new Set<string>();
  visit(node, {
    [kind]: (found: { readonly name: { readonly value: string } }) => void names.add(found.name.value),
  });
  return names;
}

/** The document without fragments and variables that nothing uses. */
function tidied(document: DocumentNode): DocumentNode {
  const spread = namesOf(document, Kind.FRAGMENT_SPREAD);
  const definitions = document.definitions.filter(
    (node) => node.kind !== Kind.FRAGMENT_DEFINITION || spread.has(node.name.value),
  );
  if (definitions.length < document.definitions.length) return tidied({ ...document, definitions });
  const bare = visit(document, { VariableDefinition: () => null });
  const used = namesOf(bare, Kind.VARIABLE);
  return visit(document, {
    VariableDefinition: (node) => (used.has(node.variable.name.value) ? undefined : null),
  });
}

function* smallerDocuments(text: string): Generator<string> {
  const document = parsed(text);
  if (document === undefined) {
    for (const characters of shorter([...text])) yield characters.join('');
    return;
  }
  const fragments = new Map(
    document.definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node as Loose]] : [],
    ),
  );
  const plain = print(document);
  if (plain !== text) yield plain;
  for (const variant of variants(document as Loose, fragments)) {
    const plain = print(variant);
    const tidy = variant.kind === Kind.DOCUMENT ? print(tidied(variant)) : plain;
    if (tidy !== plain) yield tidy;
    yield plain;
  }
}

function* smallerValues(value: unknown): Generator<unknown> {
  if (typeof value === 'string') yield* shorterText(value);
  else if (Array.isArray(value)) {
    yield* shorter(value);
    yield* value;
  } else if (typeof value === 'object' && value !== null) yield* Object.values(value);
}

function* smallerVariables(variables: NonNullable<Case['variables']>): Generator<Case['variables']> {
  const entries = Object.entries(variables);
  for (const some of shorter(entries)) yield some.length === 0 ? undefined : Object.fromEntries(some);
  for (const [name, value] of entries)
    for (const smaller of smallerValues(value))
      yield Object.fromEntries(entries.map((entry) => (entry[0] === name ? [name, smaller] : entry)));
}

/** Cases that are simpler than one in a single respect. */
export function* smallerCases(test: Case): Generator<Case> {
  for (const document of smallerDocuments(test.document)) yield { ...test, document };
  if (test.operationName !== undefined) yield { ...test, operationName: undefined };
  if (test.variables !== undefined)
    for (const variables of smallerVariables(test.variables)) yield { ...test, variables };
  for (const caller of ['member', ...CALLERS] as const) {
    if (caller === test.caller) break;
    yield { ...test, caller };
  }
}
