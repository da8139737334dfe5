import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
} from 'graphql';
import { maxCharactersOf, mayBeLong } from '../core/field-options.ts';
import { nodeTypes } from './node-type.ts';
import { getSqlMapping, rowProperties } from './plan/plan-field.ts';
import type { CallerSql, ValueMapping } from './sql-mappings.ts';

type Field = GraphQLField<unknown, unknown>;

const PAGE = 'See docs/contributing/recipes/computed-field.md.';
const EXAMPLE = `expression: ({ body }, { length }) => \`left(\${body}, \${length})\``;

const objectTypes = (schema: GraphQLSchema): readonly GraphQLObjectType[] =>
  Object.values(schema.getTypeMap()).filter(isObjectType);

/** The types of nodes, and the types to which fields lead. */
function rowTypes(schema: GraphQLSchema): ReadonlySet<GraphQLObjectType> {
  const found = new Set(nodeTypes(schema).map(({ type }) => type));
  for (const field of objectTypes(schema).flatMap((type) => Object.values(type.getFields()))) {
    const mapping = getSqlMapping(field);
    if (mapping === undefined) continue;
    const named = getNamedType(field.type);
    const type =
      mapping.kind === 'connection' && isObjectType(named)
        ? getNamedType(named.getFields().nodes?.type)
        : named;
    if (isObjectType(type)) found.add(type);
  }
  return found;
}

function checkSize(name: string, field: Field): void {
  if (mayBeLong(field) && maxCharactersOf(field) === undefined)
    throw new Error(
      `${name} has no "maxCharacters", without which nothing bounds the size of its texts in a response: set it to the most characters that one value of the field can have.`,
    );
}

/** Stands for the SQL of values, and records which values are read. */
function recordReads(names: readonly string[], read: Set<string>, explain: (name: string) => string) {
  const get = (_target: object, name: string | symbol) => {
    if (typeof name === 'symbol') throw new Error(explain('all of it, as a text,'));
    if (!names.includes(name)) throw new Error(explain(`"${name}"`));
    read.add(name);
    return `"${name}"`;
  };
  return new Proxy<Record<string, string>>({}, { get });
}

function checkSql(name: string, field: Field, { expression: sql, parameters, ofCaller }: ValueMapping): void {
  const args = field.args.map((argument) => argument.name);
  if (args.length > 0 && parameters === undefined)
    throw new Error(
      `${name} takes ${args.join(', ')}, but its "sql" has no "parameters", which make the parameters of its SQL from the arguments. ${PAGE}`,
    );
  if (isListType(getNullableType(field.type)) && getNamedType(field.type).name === 'DateTime')
    throw new Error(`${name} is a list of timestamps, which look-ahead cannot write: leave out its "sql".`);
  const read = new Set<string>();
  const used = new Set<string>();
  const who = (what: keyof CallerSql) => {
    if (ofCaller === true) return `"${what}"`;
    throw new Error(
      `The SQL of ${name} uses the caller’s ${what}, which it gets only with "ofCaller: true" in its "sql". ${PAGE}`,
    );
  };
  const declared = rowProperties(field);
  sql(
    recordReads(
      declared,
      read,
      (what) =>
        `The SQL of ${name} reads ${what} of its row, of which the field declares ${declared.join(', ')}: add the column to "columns", and take it by its name, as in ${EXAMPLE}. ${PAGE}`,
    ),
    recordReads(
      args,
      used,
      (what) =>
        `The SQL of ${name} uses ${what} of its arguments, which are ${args.join(', ') || 'none'}: take each by its name, as in ${EXAMPLE}. ${PAGE}`,
    ),
    {
      get id() {
        return who('id');
      },
      get isAdmin() {
        return who('isAdmin');
      },
    },
  );
  if (read.size === 0)
    throw new Error(
      `The SQL of ${name} takes no column from its row: take each by its name, as in ${EXAMPLE}. ${PAGE}`,
    );
  const unused = args.filter((argument) => !used.has(argument));
  if (unused.length > 0)
    throw new Error(
      `The SQL of ${name} does not use ${unused.join(', ')}, so the value would not depend on it. Take it from the arguments, as in ${EXAMPLE}. ${PAGE}`,
    );
}

/**
 * Checks the declarations of fields on types whose rows the database reads.
 * @throws {Error} for the first error, with its correction
 */
export function checkFields(schema: GraphQLSchema): void {
  for (const type of rowTypes(schema))
    for (const field of Object.values(type.getFields())) {
      const name = `${type.name}.${field.name}`;
      checkSize(name, field);
      const mapping = getSqlMapping(field);
      if (mapping?.kind === 'value') checkSql(name, field, mapping);
    }
}
