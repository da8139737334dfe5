import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from 'graphql';
import { newId } from '../../../src/platform/ids.ts';
import type { TestApp } from '../app.ts';
import { linesOf } from '../log-lines.ts';

/** Values for the arguments that a field requires. */
const REQUIRED: Readonly<Record<string, string>> = {
  id: JSON.stringify(newId()),
  ids: `["${newId()}"]`,
  slug: '"a-slug"',
  query: '"word"',
  handle: '"nobody"',
};

function argumentsOf({ name, args }: GraphQLField<unknown, unknown>): string {
  const given = args.filter(isRequiredArgument).map((argument) => {
    const value = REQUIRED[argument.name];
    if (value === undefined)
      throw new Error(
        `${name} requires "${argument.name}": add a value to REQUIRED in tests/support/schema/left-to-resolvers.ts`,
      );
    return `${argument.name}: ${value}`;
  });
  return given.length === 0 ? '' : `(${given.join(', ')})`;
}

/** Why the database did not answer a query; undefined if it did. */
async function declinedFor(app: TestApp, key: string, query: string): Promise<string | undefined> {
  const { headers, errors } = await app.gql(query, { key });
  const id = headers.get('x-request-id');
  const line = linesOf(app.logged, 'graphql.execution_path').find(({ requestId }) => requestId === id);
  if (line === undefined) throw new Error(`no execution path of ${query}: ${JSON.stringify(errors)}`);
  return (line.executionPaths as string[]).includes('database_response')
    ? undefined
    : String(line.fallbackReason);
}

/**
 * Asks for every field that a query reaches, each by itself. Returns those that the database does not answer, by
 * coordinate, with the reason. What is only below such a field is not asked for.
 */
export async function leftToResolvers(
  app: TestApp,
  key: string,
  schema: GraphQLSchema,
): Promise<Record<string, string>> {
  const left: Record<string, string> = {};
  const root = schema.getQueryType() as GraphQLObjectType;
  const around = new Map<GraphQLObjectType, (selection: string) => string>([
    [root, (inner) => `{ ${inner} }`],
  ]);
  // A Map goes on with what is added meanwhile.
  for (const [type, within] of around)
    for (const field of Object.values(type.getFields())) {
      const named = getNamedType(field.type);
      const written = `${field.name}${argumentsOf(field)}`;
      const query = within(isLeafType(named) ? written : `${written} { __typename }`);
      const reason = await declinedFor(app, key, query);
      if (reason !== undefined) left[`${type.name}.${field.name}`] = reason;
      else if (isObjectType(named) && !around.has(named))
        around.set(named, (inner) => within(`${written} { ${inner} }`));
    }
  return left;
}
