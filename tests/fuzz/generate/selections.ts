import {
  type GraphQLField,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
} from 'graphql';
import { type Draft, type Entry, fits, merge, type Scope } from './draft.ts';
import { oneIn, weighted } from './draw.ts';
import { directives, fieldArguments } from './inputs.ts';

type Field = GraphQLField<unknown, unknown>;

/** What a selection may be on. */
type Owner = GraphQLObjectType | GraphQLInterfaceType;

const typeOf = (draft: Draft, field: Field): Owner | undefined => {
  const named = draft.schema.getType(getNamedType(field.type).name);
  return isObjectType(named) || isInterfaceType(named) ? named : undefined;
};

/** What a fragment within a selection is on: most often, of an interface, one of its types. */
function fragmentType({ schema, random }: Draft, type: Owner): Owner {
  if (isInterfaceType(type)) return oneIn(random, 5) ? type : random.pick(schema.getPossibleTypes(type));
  const shared = type.getInterfaces();
  return shared.length > 0 && oneIn(random, 8) ? random.pick(shared) : type;
}

/** What stands at a place for a fragment: now and then, on another type, as if nothing did. */
const scopeOf = ({ random }: Draft, scope: Scope, apart: boolean): Scope =>
  apart && oneIn(random, 4) ? new Map() : scope;

/** The fields to choose from. At the end of the depth those that lead on are left out, where there are others. */
function fieldsOf(draft: Draft, type: Owner, depth: number): readonly Field[] {
  const every = Object.values(type.getFields());
  // What a session alone may do is rejected to nearly all, and a rejection undoes the rest of a mutation.
  const open = every.filter(({ description }) => description?.includes('session') !== true);
  const isMutation = type === draft.schema.getMutationType();
  // What is made needs nothing that is there already, and so succeeds most often.
  if (isMutation && oneIn(draft.random, 2)) return open.filter(({ name }) => name.startsWith('create'));
  const all = isMutation && !oneIn(draft.random, 4) ? open : every;
  const leaves = all.filter((field) => isLeafType(getNamedType(field.type)));
  if (depth <= 0 || draft.room <= 0) return leaves;
  const atRoot = type === draft.schema.getQueryType() && oneIn(draft.random, 25);
  const branches = all.filter((field) => !leaves.includes(field));
  if (atRoot) return [SchemaMetaFieldDef, TypeMetaFieldDef];
  // As many of what leads on as of the rest, however few they are.
  return branches.length > 0 && (leaves.length === 0 || oneIn(draft.random, 2)) ? branches : leaves;
}

/** Under which name a field is to come back. What stands there already may be merged with, seldom collides. */
function responseName(draft: Draft, field: Field, scope: Scope, type: Owner): string {
  const { random, names, manner } = draft;
  const aliases = draft.aliases.get(type.name) ?? [];
  // One name in two places of the same type: what is planned for both of them must not mix them up.
  const again = aliases.length > 0 && oneIn(random, 4) ? random.pick(aliases) : undefined;
  if (again !== undefined && !scope.has(again)) return again;
  if (oneIn(random, manner.alias)) {
    for (let tries = 0; tries < 3; tries += 1) {
      const name = names.any();
      const there = scope.get(name);
      if (there === undefined || there.field === field.name || draft.fault(6)) {
        draft.aliases.set(type.name, [...aliases, name]);
        return name;
      }
    }
    return names.fresh(scope);
  }
  const there = scope.get(field.name);
  if (there === undefined || there.field === field.name || draft.fault(6)) return field.name;
  return names.fresh(scope);
}

function entryOf(draft: Draft, field: Field, scope: Scope, name: string): Entry {
  const there = scope.get(name);
  if (there !== undefined && there.field === field.name && !draft.fault(15)) {
    draft.use(there.uses);
    return there;
  }
  const { written, uses } = draft.apart(() => fieldArguments(draft, field));
  draft.use(uses);
  const entry: Entry = { field: field.name, args: written, uses, below: new Map() };
  if (there === undefined) scope.set(name, entry);
  return entry;
}

function fieldText(draft: Draft, type: Owner, field: Field, scope: Scope, depth: number): string {
  const { random } = draft;
  draft.room -= 1;
  const name = responseName(draft, field, scope, type);
  const { args, below } = entryOf(draft, field, scope, name);
  const alias = name === field.name && !oneIn(random, 12) ? '' : `${name}${random.pick([': ', ':', ' : '])}`;
  const written = draft.fault(40) ? draft.names.any() : field.name;
  const condition = directives(draft);
  const target = typeOf(draft, field);
  if (target === undefined) return `${alias}${written}${args}${condition}${draft.fault(60) ? ' { id }' : ''}`;
  if (draft.fault(40)) return `${alias}${written}${args}${condition}`;
  return `${alias}${written}${args}${condition} ${selectionSet(draft, target, below, depth - 1)}`;
}

/** What a fragment may be said to be on where it does not belong. */
const WRONG_TYPES = 'Query User Post Node DateTime String None PageInfo __Type constructor'.split(' ');

function inlineFragment(draft: Draft, type: Owner, scope: Scope, depth: number): string {
  const { random } = draft;
  const within = fragmentType(draft, type);
  const on = draft.fault(12) ? random.pick(WRONG_TYPES) : within.name;
  const condition = within === type && oneIn(random, 4) ? '' : ` on ${on}`;
  const apart = isInterfaceType(type) && within !== type;
  return `...${condition}${directives(draft)} ${selectionSet(draft, within, scopeOf(draft, scope, apart), depth)}`;
}

/** A spread of a fragment of the type that fits here: one there is, or a new one. Undefined where the new one does not fit. */
function spread(draft: Draft, type: Owner, scope: Scope, depth: number): string | undefined {
  const { random, fragments, names } = draft;
  if (draft.fault(15)) return `...${names.fresh(fragments)}`;
  if (draft.fault(15) && fragments.size > 0) return `...${random.pick([...fragments.keys()])}`;
  const within = fragmentType(draft, type);
  const ready = [...fragments.values()].filter((it) => it.type === within.name && fits(scope, it.own));
  if (ready.length > 0 && oneIn(random, 2)) {
    const { name, own, uses } = random.pick(ready);
    merge(scope, own);
    draft.use(uses);
    return `...${name}${directives(draft)}`;
  }
  const name = names.fresh(fragments);
  const on = draft.fault(15) ? random.pick(WRONG_TYPES) : within.name;
  const own: Scope = new Map();
  // Its name is taken from now on, and one that is spread within itself makes a cycle.
  fragments.set(name, { name, type: 'none so far', own, uses: new Set(), text: '' });
  const { written, uses } = draft.apart(() => {
    const cycle = draft.fault(20) ? ` ...${name}` : '';
    return `${selectionSet(draft, within, own, depth).slice(0, -1)}${cycle} }`;
  });
  fragments.delete(name);
  const fitting = fits(scope, own);
  if (!fitting && !draft.fault(10)) return undefined;
  fragments.set(name, { name, type: within.name, own, uses, text: `fragment ${name} on ${on} ${written}` });
  // One that is used nowhere.
  if (draft.fault(12)) return undefined;
  if (fitting) merge(scope, own);
  draft.use(uses);
  return `...${name}${directives(draft)}`;
}

type Part = 'field' | 'inline' | 'spread' | 'typename';

/** A selection with its braces; `scope` is what stands at its place already, and learns what is added. */
export function selectionSet(draft: Draft, type: Owner, scope: Scope, depth: number): string {
  const { random, manner } = draft;
  const parts: string[] = [];
  const count = draft.room <= 0 ? 1 : 1 + random.below(manner.breadth);
  const isSubscription = type === draft.schema.getSubscriptionType();
  const isSingle = type === draft.schema.getMutationType() && oneIn(random, 2);
  // The nodes of a connection in both of the ways that lead to them.
  const both = type.name.endsWith('Connection') && depth > 0 && oneIn(random, 3) ? ['nodes', 'edges'] : [];
  for (const name of both) {
    const field = type.getFields()[name];
    if (field !== undefined) parts.push(fieldText(draft, type, field, scope, depth));
  }
  for (let at = 0; at < count; at += 1) {
    // An interface alone shows next to nothing.
    const fragments = isInterfaceType(type) ? 4 * manner.fragment : 1;
    const part = weighted<Part>(random, [
      [manner.fragment * 2, 'field'],
      [fragments, 'inline'],
      [isInterfaceType(type) ? manner.fragment : 1, 'spread'],
      [isSubscription ? 0 : 1, 'typename'],
    ]);
    const fields = fieldsOf(draft, type, depth);
    if (part === 'typename' || fields.length === 0) parts.push(`__typename${directives(draft)}`);
    else if (part === 'inline' && depth > -2)
      parts.push(inlineFragment(draft, type, scope, depth - (at > 0 ? 0 : 1)));
    else if (part === 'spread' && depth > -2)
      parts.push(spread(draft, type, scope, depth - 1) ?? '__typename');
    else parts.push(fieldText(draft, type, random.pick(fields), scope, depth));
    if (isSingle || (isSubscription && !draft.fault(6))) break;
  }
  return `{ ${parts.join(random.pick([' ', ' ', ', ', '\n', ' # }\n']))} }`;
}
