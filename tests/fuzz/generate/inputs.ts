import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  isListType,
  isNonNullType,
  isRequiredArgument,
} from 'graphql';
import type { Draft } from './draft.ts';
import { oneIn, weighted } from './draw.ts';
import { randomValue, strangeValue, valueLiteral } from './values.ts';

type Given = 'value' | 'absent' | 'null' | 'strange';

/** What variables may be declared as that some position has no use for. */
const OTHER_TYPES = 'Int String! [ID!]! Boolean DateTime Float Post None [[Int]] __Type'.split(' ');

function give(draft: Draft, name: string, type: GraphQLInputType, hint: string, given: Given): void {
  const { random, known, variables } = draft;
  if (given === 'absent') return;
  if (given === 'null') variables[name] = null;
  else variables[name] = given === 'strange' ? strangeValue(random) : randomValue(random, type, hint, known);
}

/** A variable for a position of a type, as it stands in the document. The request may give it, or not, or wrongly. */
function variable(draft: Draft, type: GraphQLInputType, hint: string): string {
  const { random, definitions, names, known } = draft;
  const bare = isNonNullType(type) ? type.ofType : type;
  const same = [...definitions].filter(([, definition]) => definition.type.replace('!', '') === `${bare}`);
  if (same.length > 0 && oneIn(random, 3)) {
    const [name] = random.pick(same);
    draft.use([name]);
    return `$${name}`;
  }
  const name = names.fresh(definitions);
  const hasDefault = oneIn(random, 3);
  // With a default a nullable variable may stand where null may not.
  const strict = isNonNullType(type) ? !(hasDefault && oneIn(random, 2)) : oneIn(random, 5);
  const declared = draft.fault(12) ? random.pick(OTHER_TYPES) : `${bare}${strict ? '!' : ''}`;
  const standard = () => {
    if (!strict && oneIn(random, 8)) return 'null';
    return valueLiteral(
      random,
      draft.fault(10) ? strangeValue(random) : randomValue(random, type, hint, known),
    );
  };
  const text = `$${name}: ${declared}${hasDefault ? ` = ${standard()}` : ''}`;
  definitions.set(name, { type: declared, text });
  const mayLack = hasDefault || !strict;
  const given: Given = draft.fault(8)
    ? random.pick<Given>(['absent', 'null', 'strange'])
    : weighted<Given>(random, [
        [6, 'value'],
        [mayLack ? 2 : 0, 'absent'],
        [!strict && !isNonNullType(type) ? 1 : 0, 'null'],
      ]);
  give(draft, name, type, hint, given);
  if (!draft.fault(25)) draft.use([name]);
  return `$${name}`;
}

/** What stands for a value: a literal, a variable, null, or a list with variables in it. */
function input(draft: Draft, type: GraphQLInputType, hint: string): string {
  const { random, known, manner } = draft;
  if (oneIn(random, manner.variable)) return variable(draft, type, hint);
  if (!isNonNullType(type) && oneIn(random, 14)) return 'null';
  if (draft.fault(30)) return valueLiteral(random, strangeValue(random));
  const bare = isNonNullType(type) ? type.ofType : type;
  if (isListType(bare) && oneIn(random, manner.variable * 2)) {
    const items = Array.from({ length: 1 + random.below(3) }, () => input(draft, bare.ofType, hint));
    return `[${items.join(', ')}]`;
  }
  return valueLiteral(random, randomValue(random, type, hint, known));
}

/** Whether an argument that may be left out is given. Lists without a size are twenty long: most get one. */
function isGiven(draft: Draft, { args }: GraphQLField<unknown, unknown>, argument: GraphQLArgument): boolean {
  if (isRequiredArgument(argument)) return !draft.fault(20);
  if (argument.name === 'currentPassword') return !oneIn(draft.random, 8);
  const named = (name: string) => args.find((one) => one.name === name);
  if (argument === (named('limit') ?? named('first'))) return !oneIn(draft.random, 4);
  return oneIn(draft.random, ['first', 'last', 'before'].includes(argument.name) ? 12 : 4);
}

/**
 * Writes the right password, as a literal: `changePassword` could use a variable, and would then revoke the session of
 * its caller.
 * @returns undefined for another argument, and sometimes for this argument
 */
function writeRightPassword({ random, known }: Draft, field: GraphQLField<unknown, unknown>, name: string) {
  if (field.name !== 'createApiKey' || name !== 'currentPassword' || oneIn(random, 8)) return undefined;
  return valueLiteral(random, known.password);
}

/** The arguments of a field, with their parentheses. */
export function fieldArguments(draft: Draft, field: GraphQLField<unknown, unknown>): string {
  const { random, names } = draft;
  const given = field.args.filter((argument) => isGiven(draft, field, argument));
  const texts = given.map(({ name, type }) => {
    const hint = field.name === 'tags' && name === 'after' ? 'after tag' : name;
    return `${name}: ${writeRightPassword(draft, field, name) ?? input(draft, type, hint)}`;
  });
  if (draft.fault(40)) texts.push(`${names.any()}: ${valueLiteral(random, strangeValue(random))}`);
  const [first] = texts;
  if (first !== undefined && draft.fault(40)) texts.push(first);
  if (oneIn(random, 3)) texts.reverse();
  return texts.length === 0 ? '' : `(${texts.join(random.pick([', ', ' ', ',', '\n']))})`;
}

/** A directive or none, with the space before it. `@skip` and `@include` leave out about a third of what has them. */
export function directives(draft: Draft): string {
  const { random, schema, names, manner } = draft;
  if (draft.fault(80)) return ` @${names.any()}${oneIn(random, 2) ? '' : '(if: true)'}`;
  if (draft.fault(80)) return random.pick([' @skip', ' @include(if: null)', ' @deprecated', ' @skip(if: 1)']);
  if (!oneIn(random, manner.directive)) return '';
  const condition = schema.getDirective(random.pick(['skip', 'include']));
  const [argument] = condition?.args ?? [];
  if (condition == null || argument === undefined) throw new Error('the schema has no @skip and @include');
  const value = () => {
    if (oneIn(random, 2)) return variable(draft, argument.type, argument.name);
    return String((condition.name === 'include') !== oneIn(random, 3));
  };
  const text = ` @${condition.name}(${argument.name}: ${value()})`;
  if (draft.fault(20)) return `${text}${text}`;
  const other = condition.name === 'skip' ? 'include' : 'skip';
  return oneIn(random, 8) ? `${text} @${other}(if: ${value()})` : text;
}
