import {
  type DocumentNode,
  GraphQLError,
  type GraphQLInputType,
  type GraphQLSchema,
  isInputType,
  Kind,
  parse,
  type TypeNode,
  typeFromAST,
  visit,
} from 'graphql';
import type { Random } from '../../support/random.ts';
import type { Case } from '../case.ts';
import { oneIn, weighted } from './draw.ts';
import type { Known } from './known.ts';
import { randomValue } from './values.ts';

interface Declared {
  readonly name: string;
  readonly type: TypeNode;
  /** An argument that it is given to. */
  readonly hint: string;
}

/** Undefined where the text is no document. */
function parsed(text: string): DocumentNode | undefined {
  try {
    return parse(text, { noLocation: true });
  } catch (error) {
    if (error instanceof GraphQLError) return undefined;
    throw error;
  }
}

function declaredIn(document: DocumentNode): readonly Declared[] {
  const hints = new Map<string, string>();
  visit(document, {
    Argument(argument) {
      visit(argument.value, {
        Variable: ({ name }) => void hints.set(name.value, argument.name.value),
      });
    },
  });
  return document.definitions
    .flatMap((node) => (node.kind === Kind.OPERATION_DEFINITION ? (node.variableDefinitions ?? []) : []))
    .map(({ variable: { name }, type }) => ({
      name: name.value,
      type,
      hint: hints.get(name.value) ?? name.value,
    }));
}

function inputType(schema: GraphQLSchema, node: TypeNode): GraphQLInputType | undefined {
  const type = typeFromAST(schema, node);
  return isInputType(type) ? type : undefined;
}

/**
 * The variables of a case with one or two of them changed: absent, null or of another value, and all others as they were.
 * What a service keeps of the document for some values it must not tell for these.
 */
export function otherVariables(
  random: Random,
  schema: GraphQLSchema,
  known: Known,
  { document, variables = {} }: Case,
): Case['variables'] {
  const declared = declaredIn(parsed(document) ?? { kind: Kind.DOCUMENT, definitions: [] });
  if (declared.length === 0) return variables;
  const changed = new Map(Object.entries(variables));
  for (let left = oneIn(random, 3) ? 2 : 1; left > 0; left -= 1) {
    const { name, type, hint } = random.pick(declared);
    const input = inputType(schema, type);
    const value = input === undefined ? null : randomValue(random, input, hint, known);
    const change = weighted<'value' | 'absent' | 'null'>(random, [
      [3, 'value'],
      [1, 'absent'],
      [1, 'null'],
    ]);
    if (change === 'absent') changed.delete(name);
    else changed.set(name, change === 'null' ? null : value);
  }
  // As the service reads them: JSON has no minus zero, say.
  return JSON.parse(JSON.stringify(Object.fromEntries(changed)));
}

/** A case with one variable absent, and with the same one null, in either order: an absent one has its default. */
export function absentAndNull(random: Random, asked: Case): readonly Case[] {
  const { document, variables = {} } = asked;
  const declared = declaredIn(parsed(document) ?? { kind: Kind.DOCUMENT, definitions: [] });
  if (declared.length === 0) return [];
  const { name } = random.pick(declared);
  const others = Object.entries(variables).filter(([other]) => other !== name);
  const absent = { ...asked, variables: Object.fromEntries(others) };
  const isNull = { ...asked, variables: Object.fromEntries([...others, [name, null]]) };
  return oneIn(random, 2) ? [absent, isNull] : [isNull, absent];
}
