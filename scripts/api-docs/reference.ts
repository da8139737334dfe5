/** The reference of a schema in Markdown: everything in it, in the order in which a reader looks for it. */
import {
  astFromValue,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLScalarType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
  isScalarType,
  isSpecifiedScalarType,
  isUnionType,
  print,
} from 'graphql';
import { permissionsOf } from '../../src/engine/core/permissions.ts';
import type { RanExample } from './examples.ts';
import { bullets, CONNECTIONS, definition, fence, link, PAGE_NAME, slug, typeLink } from './markdown.ts';
import { costOf, scopeOf } from './requirements.ts';

type Field = GraphQLField<unknown, unknown>;

/** A heading of the table of contents, and the sections under it. */
interface Chapter {
  readonly title: string;
  readonly intro?: readonly string[];
  readonly sections: readonly Section[];
}

/** What sections have in common: examples, and the arguments whose descriptions are printed once. */
interface Common {
  readonly examples: readonly RanExample[];
  readonly shared: ReadonlySet<string>;
}

interface Section {
  readonly title: string;
  readonly body: readonly string[];
}

const sorted = <T extends { readonly name: string }>(elements: Iterable<T>): T[] =>
  [...elements].sort((a, b) => (a.name < b.name ? -1 : 1));

interface Described {
  readonly description?: string | null | undefined;
}

/** Sentences of several descriptions, which the introduction (intro.md) has for all of them. */
const SAID_ONCE = [
  / ?A string that is not a UUID matches nothing\./g,
  / ?It starts at 1 and increases by 1 with each change\./g,
  / ?True if the \w+ existed, false if (?:it did not|the caller has no such \w+)\./g,
  / ?A wrong password is BAD_USER_INPUT, too many are RATE_LIMITED\./g,
  / ?Select it once in an operation\./g,
];

const describe = ({ description }: Described): string =>
  SAID_ONCE.reduce((text, sentence) => text.replaceAll(sentence, ''), description ?? '').trim();

/** The description of an argument or a field, or nothing if it repeats the name, such as "The author of the post." */
function describeMember(member: Described & { readonly name: string }): string {
  const text = describe(member);
  const words = member.name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const repeatsName =
    new RegExp(`^The (?:\\w+’s )?${words}(?: of the \\w+)?\\.$`).test(text) ||
    (member.name === 'createdAt' && /^When the \w+ was created\.$/.test(text));
  return repeatsName ? '' : text;
}

const deprecation = ({ deprecationReason }: { readonly deprecationReason?: string | null | undefined }) =>
  deprecationReason == null ? [] : [`**Deprecated:** ${deprecationReason}`];

/** The words about an argument or an input field, which may have a default. */
function inputWords(input: GraphQLArgument | GraphQLInputField): string {
  const { default: given, defaultValue, type } = input;
  const ast = given?.literal ?? (defaultValue === undefined ? null : astFromValue(defaultValue, type));
  const byDefault = ast == null ? undefined : print(ast);
  const words = describeMember(input);
  const isSaid = byDefault === undefined || words.includes(`${byDefault} if null`);
  return [words, ...(isSaid ? [] : [`Default: \`${byDefault}\`.`]), ...deprecation(input)]
    .filter((part) => part !== '')
    .join(' ');
}

const defineInputs = (inputs: readonly (GraphQLArgument | GraphQLInputField)[]): string[] =>
  inputs.map((input) => definition(`\`${input.name}\``, typeLink(input.type), inputWords(input)));

const SHARED_ARGUMENTS = 'Shared arguments';
/** So many elements with the same name and description have one description. */
const SHARED_FROM = 3;

const argumentKey = (arg: GraphQLArgument) => `${arg.name}: ${arg.type}: ${inputWords(arg)}`;

/** The cost of most lists, which the introduction has. */
const USUAL_COST = /^1 \+ (?:⌈`offset` ÷ 10⌉ \+ )?(?:`limit`|`first`|20) × selection$/;

function unusualCost(field: Field): string | undefined {
  const cost = costOf(field);
  return cost === undefined || USUAL_COST.test(cost) ? undefined : `${link('Cost', 'Cost')}: ${cost}.`;
}

/** One of each group of elements that have the same key. */
function findShared<T extends { readonly name: string }>(
  elements: readonly T[],
  key: (element: T) => string,
): T[] {
  const groups = Object.values(Object.groupBy(elements, key));
  return sorted(groups.flatMap((group = []) => (group.length < SHARED_FROM ? [] : group.slice(0, 1))));
}

function exampleBlocks({ title, operation, response }: RanExample): string[] {
  return [title, fence('graphql', operation), fence('json', response)];
}

/** A section of its own: a root field, or one with arguments. */
function fieldSection(owner: string, field: Field, { examples, shared }: Common): Section {
  const title = `${owner}.${field.name}`;
  const scope = scopeOf(field);
  const cost = unusualCost(field);
  const [common = [], separate = []] = [true, false].map((isShared) =>
    field.args.filter((arg) => shared.has(argumentKey(arg)) === isShared),
  );
  const names = common.map(({ name }) => `\`${name}\``).join(', ');
  const line = [
    `${typeLink(field.type)}.`,
    ...(scope === undefined ? [] : [`Needs ${scope}.`]),
    ...(cost === undefined ? [] : [cost]),
    ...(names === '' ? [] : [`${link('Shared', SHARED_ARGUMENTS)}: ${names}.`]),
  ];
  const body = [
    ...deprecation(field),
    // The line below says it.
    describe(field).replaceAll(/ ?Needs (?:the scopes? `[^.]+`|a session; otherwise FORBIDDEN)\./g, ''),
    line.join(' '),
    ...bullets(defineInputs(separate)),
    ...examples.filter((example) => example.coordinate === title).flatMap(exampleBlocks),
  ];
  return { title, body };
}

/** The id first, then values, then objects. */
const fieldRank = ({ name, type }: Field): number =>
  name === 'id' ? 0 : isLeafType(getNamedType(type)) ? 1 : 2;

/** An item of a list of fields. */
function fieldItem(field: Field, title: string = field.name): string {
  const isList = !isLeafType(getNamedType(field.type));
  const cost = isList ? unusualCost(field) : undefined;
  const words = [...deprecation(field), describeMember(field), cost ?? ''].filter((part) => part !== '');
  return definition(`\`${title}\``, typeLink(field.type), words.join(' '));
}

const hasArguments = ({ args }: Field): boolean => args.length > 0;

/** The fields, and links to the sections of fields with arguments. */
function fieldList(owner: string, fields: readonly Field[]): string[] {
  const links = fields
    .filter(hasArguments)
    .map(({ name }) => link(`\`${name}\``, `${owner}.${name}`))
    .join(', ');
  const items = fields.filter((field) => !hasArguments(field)).map((field) => fieldItem(field));
  return bullets(links === '' ? items : [...items, links]);
}

function objectSections(type: GraphQLObjectType, common: Common): readonly Section[] {
  // The section of the interface has these fields.
  const inherited = type.getInterfaces().flatMap((parent) => Object.values(parent.getFields()));
  const isInherited = (field: Field) =>
    inherited.some((other) => other.name === field.name && describe(other) === describe(field));
  const fields = sorted(Object.values(type.getFields())).sort((a, b) => fieldRank(a) - fieldRank(b));
  const interfaces = type.getInterfaces().map(({ name }) => link(`\`${name}\``, name));
  const own = fields.filter((field) => !isInherited(field));
  const body = [
    describe(type),
    ...(interfaces.length === 0 ? [] : [`Implements ${interfaces.join(', ')}.`]),
    ...fieldList(type.name, own),
  ];
  const sections = fields.filter(hasArguments).map((field) => fieldSection(type.name, field, common));
  return [{ title: type.name, body }, ...sections];
}

/** Interfaces, unions, enums and inputs. */
function otherSection(schema: GraphQLSchema, type: GraphQLNamedType): Section {
  const body = [describe(type)];
  if (isInterfaceType(type)) {
    const { objects } = schema.getImplementations(type);
    body.push(
      `Implemented by ${sorted(objects)
        .map(({ name }) => link(`\`${name}\``, name))
        .join(', ')}.`,
    );
    body.push(...fieldList(type.name, sorted(Object.values(type.getFields()))));
  } else if (isUnionType(type)) {
    body.push(
      `One of ${type
        .getTypes()
        .map(({ name }) => link(`\`${name}\``, name))
        .join(', ')}.`,
    );
  } else if (isEnumType(type)) {
    const values = type
      .getValues()
      .map((value) => `\`${value.name}\`: ${[...deprecation(value), describe(value)].join(' ')}`);
    body.push(...bullets(values));
  } else if (isInputObjectType(type)) {
    body.push(...bullets(defineInputs(sorted(Object.values(type.getFields())))));
  }
  return { title: type.name, body };
}

const scalarSection = (scalar: GraphQLScalarType): Section => ({
  title: scalar.name,
  body: [
    describe(scalar),
    ...(scalar.specifiedByURL == null ? [] : [`Specification: <${scalar.specifiedByURL}>`]),
  ],
});

/** Fields for any credentials first, then those that need a session. */
function rootSections(root: GraphQLObjectType | null | undefined, common: Common): Section[] {
  const fields = sorted(Object.values(root?.getFields() ?? {}));
  const needsSession = (field: Field) => Number(permissionsOf(field).session === true);
  return fields
    .sort((a, b) => needsSession(a) - needsSession(b))
    .map((field) => fieldSection(root?.name ?? '', field, common));
}

/** Objects that a client asks for by id come before their parts. */
const objectRank = (type: GraphQLObjectType): number => (type.getInterfaces().length > 0 ? 0 : 1);

/** The connections and edges of all types of items, whose common fields are printed once, for items of a type `T`. */
function connectionsIntro(pages: readonly GraphQLObjectType[]): string[] {
  if (pages.length === 0) return [];
  const members = pages.flatMap((owner) =>
    sorted(Object.values(owner.getFields())).map((field) => {
      const type = `${field.type}`.replace(owner.name.replace(PAGE_NAME, ''), 'T');
      const words = isLeafType(getNamedType(field.type)) ? describe(field) : '';
      return { name: field.name, owner, field, type, key: `${field.name}: ${type}: ${words}` };
    }),
  );
  const shared = findShared(members, ({ key }) => key);
  const separate = members.filter(({ key }) => !shared.some((member) => member.key === key));
  const connections = pages.map(({ name }) => `\`${name}\``).filter((name) => name.endsWith('Connection`'));
  const definitions = shared.map(({ name, type, field }) =>
    definition(`\`${name}\``, `\`${type}\``, describe(field)),
  );
  const others = separate.map(({ owner, field }) => fieldItem(field, `${owner.name}.${field.name}`));
  return [
    `A connection is a page of a list, and an edge an item with its position. The connections are ${connections.join(', ')}.`,
    ...(definitions.length === 0 ? [] : ['For items of type `T`, connections and edges have these fields:']),
    ...bullets(definitions),
    ...(others.length === 0 ? [] : ['Some have other fields:']),
    ...bullets(others),
  ];
}

const fieldsOf = (types: readonly GraphQLObjectType[]) =>
  types.flatMap((type) => Object.values(type.getFields()));

function chapters(schema: GraphQLSchema, examples: readonly RanExample[]): Chapter[] {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const types = sorted(Object.values(schema.getTypeMap())).filter(
    (type) => !isIntrospectionType(type) && !roots.some((root) => root === type),
  );
  const objects = types.filter(isObjectType).sort((a, b) => objectRank(a) - objectRank(b));
  const pages = objects.filter(({ name }) => PAGE_NAME.test(name));
  const isPageInfo = ({ name }: GraphQLObjectType) => name === 'PageInfo';
  const scalars = types.filter(isScalarType);
  const own = scalars.filter((scalar) => !isSpecifiedScalarType(scalar));
  const others = (of: (type: GraphQLNamedType) => boolean) =>
    types.filter(of).map((type) => otherSection(schema, type));
  const objectsAndRoots = Object.values(schema.getTypeMap()).filter(isObjectType);
  const sharedArguments = findShared(
    fieldsOf(objectsAndRoots.filter((type) => !isIntrospectionType(type)))
      .flatMap(({ args }) => args)
      .filter((arg) => !isRequiredArgument(arg)),
    argumentKey,
  );
  const shared = new Set(sharedArguments.map(argumentKey));
  const common = { examples, shared };
  const sectionsOf = (type: GraphQLObjectType) => objectSections(type, common);
  const [query, mutation, subscription] = roots;
  return [
    { title: SHARED_ARGUMENTS, intro: bullets(defineInputs(sharedArguments)), sections: [] },
    { title: 'Queries', intro: [describe(query ?? {})], sections: rootSections(query, common) },
    { title: 'Mutations', intro: [describe(mutation ?? {})], sections: rootSections(mutation, common) },
    {
      title: 'Subscriptions',
      intro: [describe(subscription ?? {})],
      sections: rootSections(subscription, common),
    },
    {
      title: 'Objects',
      sections: objects.filter((type) => !pages.includes(type) && !isPageInfo(type)).flatMap(sectionsOf),
    },
    {
      title: CONNECTIONS,
      intro: connectionsIntro(pages),
      sections: objects.filter(isPageInfo).flatMap(sectionsOf),
    },
    { title: 'Interfaces', sections: others(isInterfaceType) },
    { title: 'Unions', sections: others(isUnionType) },
    { title: 'Inputs', sections: others(isInputObjectType) },
    { title: 'Enums', sections: others(isEnumType) },
    {
      title: 'Scalars',
      intro: [
        `Built into GraphQL: ${scalars
          .filter(isSpecifiedScalarType)
          .map(({ name }) => `\`${name}\``)
          .join(', ')}.`,
      ],
      sections: own.map(scalarSection),
    },
  ].filter(
    ({ title, sections, intro = [] }) =>
      sections.length > 0 || ([SHARED_ARGUMENTS, CONNECTIONS].includes(title) && intro.length > 0),
  );
}

/** The whole page. Throws if an example belongs to no section, or two sections have the same anchor. */
export function apiReference(
  schema: GraphQLSchema,
  intro: string,
  examples: readonly RanExample[] = [],
): string {
  const all = chapters(schema, examples);
  const titles = all.flatMap(({ title, sections }) => [title, ...sections.map((section) => section.title)]);
  const lost = examples.find(({ coordinate }) => !titles.includes(coordinate));
  if (lost !== undefined) throw new Error(`no section for the example of ${lost.coordinate}`);
  if (new Set(titles.map(slug)).size < titles.length) throw new Error('two sections have the same anchor');
  const body = all.flatMap(({ title, intro: words = [], sections }) => [
    `## ${title}`,
    ...words,
    ...sections.flatMap((section) => [`### ${section.title}`, ...section.body]),
  ]);
  const contents = bullets(all.map(({ title }) => link(title, title)));
  const parts = [intro.trim(), '## Contents', ...contents, ...body];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}
