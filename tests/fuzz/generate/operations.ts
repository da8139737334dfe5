import { type GraphQLObjectType, getIntrospectionQuery, OperationTypeNode } from 'graphql';
import type { Draft } from './draft.ts';
import { anyOf, oneIn, weighted } from './draw.ts';
import { directives } from './inputs.ts';
import { selectionSet } from './selections.ts';
import { strangeValue } from './values.ts';

export interface Written {
  readonly document: string;
  readonly variables: Readonly<Record<string, unknown>> | undefined;
  readonly operationName: string | undefined;
}

function randomKind({ random }: Draft): OperationTypeNode {
  return weighted(random, [
    [16, OperationTypeNode.QUERY],
    [4, OperationTypeNode.MUTATION],
    [1, OperationTypeNode.SUBSCRIPTION],
  ]);
}

function rootOf({ schema }: Draft, kind: OperationTypeNode): GraphQLObjectType {
  const root = schema.getRootType(kind) ?? schema.getQueryType();
  if (root == null) throw new Error('the schema has no query type');
  return root;
}

function operation(draft: Draft, kind: OperationTypeNode, name: string | undefined): string {
  const { random, definitions } = draft;
  const isMutation = kind === OperationTypeNode.MUTATION;
  const depth = isMutation ? Math.min(draft.manner.depth, 1 + random.below(3)) : draft.manner.depth;
  const { written, uses } = draft.apart(() => selectionSet(draft, rootOf(draft, kind), new Map(), depth));
  const texts = [...uses].flatMap((variable) =>
    draft.fault(20) ? [] : [definitions.get(variable)?.text ?? `$${variable}: Int`],
  );
  if (draft.fault(25)) texts.push(`$${draft.names.any()}: Int`);
  const [first] = texts;
  if (first !== undefined && draft.fault(15)) texts.push(first);
  if (oneIn(random, 3)) texts.reverse();
  const list = texts.length === 0 ? '' : `(${texts.join(random.pick([', ', ' ', ',\n']))})`;
  if (kind === OperationTypeNode.QUERY && name === undefined && list === '' && !oneIn(random, 4))
    return written;
  // None of the schema's directives may stand on an operation.
  const wrong = draft.fault(60) ? directives(draft) : '';
  return `${kind}${name === undefined ? '' : ` ${name}`}${list}${wrong} ${written}`;
}

/** Which operation the request names. */
function namedOf(draft: Draft, names: readonly (string | undefined)[]): string | undefined {
  const { random } = draft;
  if (draft.fault(12)) return random.pick(['', 'none', 'constructor', draft.names.any()]);
  const [only] = names;
  if (names.length === 1 && oneIn(random, 2)) return only === undefined ? undefined : only;
  return names.length === 1 ? undefined : anyOf(random, [only, ...names.slice(1)]);
}

/** Gives what the document does not ask for, or nothing at all. */
function givenVariables({ variables, random, names }: Draft): Written['variables'] {
  if (oneIn(random, 12)) Object.assign(variables, { [names.any()]: strangeValue(random) });
  return Object.keys(variables).length === 0 && !oneIn(random, 6) ? undefined : variables;
}

/** Types have no place among operations. */
const STRAY_DEFINITIONS = [
  'type A { a: Int }',
  'extend type Query { a: Int }',
  'scalar A',
  'schema { query: Query }',
];

/** Writes a document over the schema, and the rest of its request. */
export function writeDocument(draft: Draft): Written {
  const { random, names } = draft;
  if (oneIn(random, 400)) {
    const document = getIntrospectionQuery({ specifiedByUrl: oneIn(random, 2) });
    return { document, variables: undefined, operationName: undefined };
  }
  const count = oneIn(random, 8) ? 2 + random.below(2) : 1;
  const taken = new Set<string>();
  const operations = Array.from({ length: count }, () => {
    const isNamed = count > 1 || oneIn(random, 2);
    let name = isNamed ? names.fresh(taken) : undefined;
    if (draft.fault(15)) name = anyOf<string | undefined>(random, [undefined, ...taken]);
    if (name !== undefined) taken.add(name);
    return { name, text: operation(draft, randomKind(draft), name) };
  });
  const texts = [
    ...operations.map(({ text }) => text),
    ...[...draft.fragments.values()].map(({ text }) => text),
  ];
  if (draft.fault(40)) texts.push(random.pick(STRAY_DEFINITIONS));
  const [first] = texts;
  if (first !== undefined && draft.fault(60)) texts.push(first);
  if (oneIn(random, 3)) texts.reverse();
  return {
    document: texts.join(random.pick([' ', '\n', '\r\n', ' , ', '\n# comment { " \n'])),
    variables: givenVariables(draft),
    operationName: namedOf(
      draft,
      operations.map(({ name }) => name),
    ),
  };
}
