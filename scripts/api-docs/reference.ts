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
import { bullets, definition, fence, link, slug, typeLink } from './markdown.ts';
import { costOf, scopeOf } from './requirements.ts';

type Field = GraphQLField<unknown, unknown>;

/** A heading of the table of contents, and the sections under it. */
interface Chapter {
  readonly title: string;
  readonly intro?: readonly string[];
  readonly sections: readonly Section[];
}

/** What sections have in common: examples, and the descriptions that are repeated and so are printed once. */
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

const describe = ({ description }: { readonly description?: string | null | undefined }) => description ?? '';

const deprecation = ({ deprecationReason }: { readonly deprecationReason?: string | null | undefined }) =>
  deprecationReason == null ? [] : [`**Deprecated:** ${deprecationReason}`];

/** The words about an argument or an input field, which may have a default. */
function inputWords(input: GraphQLArgument | GraphQLInputField): string {
  const { default: given, defaultValue, type } = input;
  const byDefault = given?.literal ?? (defaultValue === undefined ? null : astFromValue(defaultValue, type));
  return [
    describe(input),
    ...(byDefault == null ? [] : [`Default: \`${print(byDefault)}\`.`]),
    ...deprecation(input),
  ].join(' ');
}

const defineInputs = (inputs: readonly (GraphQLArgument | GraphQLInputField)[]): string[] =>
  inputs.map((input) => definition(`\`${input.name}\``, typeLink(input.type), inputWords(input)));

const SHARED_ARGUMENTS = 'Shared arguments';
/** So many elements with the same name and description have one description. */
const SHARED_FROM = 3;

const argumentKey = (arg: GraphQLArgument) => `${arg.name}: ${arg.type}: ${inputWords(arg)}`;
const fieldKey = (field: Field) => `${field.name}: ${describe(field)}`;

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
  const cost = costOf(field);
  const [common = [], separate = []] = [true, false].map((isShared) =>
    field.args.filter((arg) => shared.has(argumentKey(arg)) === isShared),
  );
  const body = [
    ...deprecation(field),
    // The list below says it.
    describe(field).replaceAll(/ ?Needs (?:the scopes? `[^.]+`|a session; otherwise FORBIDDEN)\./g, ''),
    ...bullets([
      `Type: ${typeLink(field.type)}`,
      ...(scope === undefined ? [] : [`Needs: ${scope}`]),
      ...(cost === undefined ? [] : [`${link('Cost', 'Cost')}: ${cost}`]),
      ...(common.length === 0
        ? []
        : [
            `${link(SHARED_ARGUMENTS, SHARED_ARGUMENTS)}: ${common.map(({ name }) => `\`${name}\``).join(', ')}`,
          ]),
      ...(separate.length === 0 ? [] : [['Arguments:', ...defineInputs(separate)].join('\n  - ')]),
    ]),
    ...examples.filter((example) => example.coordinate === title).flatMap(exampleBlocks),
  ];
  return { title, body };
}

/** The id first, then values, then objects. */
const fieldRank = ({ name, type }: Field): number =>
  name === 'id' ? 0 : isLeafType(getNamedType(type)) ? 1 : 2;

function fieldList(owner: string, fields: readonly Field[], shared?: Common['shared']): string[] {
  const items = fields.map((field) => {
    const name = `\`${field.name}\``;
    const cost = costOf(field);
    const isList = !isLeafType(getNamedType(field.type)) && field.args.length === 0;
    const words = [
      ...deprecation(field),
      // The section of a field with arguments has its description.
      ...(shared?.has(fieldKey(field)) || field.args.length > 0 ? [] : [describe(field)]),
      ...(cost !== undefined && isList ? [`${link('Cost', 'Cost')}: ${cost}.`] : []),
    ];
    return definition(
      field.args.length === 0 ? name : link(name, `${owner}.${field.name}`),
      typeLink(field.type),
      words.join(' '),
    );
  });
  return bullets(items);
}

function objectSections(type: GraphQLObjectType, common: Common): readonly Section[] {
  const fields = sorted(Object.values(type.getFields())).sort((a, b) => fieldRank(a) - fieldRank(b));
  const interfaces = type.getInterfaces().map(({ name }) => link(`\`${name}\``, name));
  const isGeneric = /(Connection|Edge)$/.test(type.name);
  const body = [
    isGeneric ? '' : describe(type),
    ...(interfaces.length === 0 ? [] : [`Implements ${interfaces.join(', ')}.`]),
    ...fieldList(type.name, fields, isPage(type) ? common.shared : undefined),
  ];
  const withArguments = fields.filter(({ args }) => args.length > 0);
  return [
    { title: type.name, body },
    ...withArguments.map((field) => fieldSection(type.name, field, common)),
  ];
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
const isPage = ({ name }: GraphQLObjectType): boolean => /(Connection|Edge|^PageInfo)$/.test(name);

const fieldsOf = (types: readonly GraphQLObjectType[]) =>
  types.flatMap((type) => Object.values(type.getFields()));

function chapters(schema: GraphQLSchema, examples: readonly RanExample[]): Chapter[] {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const types = sorted(Object.values(schema.getTypeMap())).filter(
    (type) => !isIntrospectionType(type) && !roots.some((root) => root === type),
  );
  const objects = types.filter(isObjectType).sort((a, b) => objectRank(a) - objectRank(b));
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
  const sharedFields = findShared(fieldsOf(objects.filter(isPage)), fieldKey);
  const shared = new Set([...sharedArguments.map(argumentKey), ...sharedFields.map(fieldKey)]);
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
    { title: 'Objects', sections: objects.filter((type) => !isPage(type)).flatMap(sectionsOf) },
    {
      title: 'Connections',
      intro: [
        'A connection is a page of a list, and an edge an item with its position. All of them have these fields:',
        ...bullets(sharedFields.map((field) => `\`${field.name}\`: ${describe(field)}`)),
      ],
      sections: objects.filter(isPage).flatMap(sectionsOf),
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
      sections.length > 0 || (title === SHARED_ARGUMENTS && intro.length > 0),
  );
}

const ROOT = /^(Query|Mutation|Subscription)\./;

const contents = (all: readonly Chapter[]): string =>
  all
    .map(({ title, sections }) => {
      const links = sections.map((section) => link(`\`${section.title.replace(ROOT, '')}\``, section.title));
      return `- ${[link(`**${title}**`, title), ...(links.length === 0 ? [] : [links.join(', ')])].join(': ')}`;
    })
    .join('\n');

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
  return `${[intro.trim(), '## Contents', contents(all), ...body].filter((part) => part !== '').join('\n\n')}\n`;
}
