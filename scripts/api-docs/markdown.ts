import { type GraphQLNamedType, type GraphQLType, getNamedType, isSpecifiedScalarType } from 'graphql';

/** The id that GitHub gives a heading. */
export const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

export const link = (text: string, heading: string): string => `[${text}](#${slug(heading)})`;

/** The title of the section of all connections and edges. */
export const CONNECTIONS = 'Connections';
export const PAGE_NAME = /(?:Connection|Edge)$/;

function headingOf(named: GraphQLNamedType): string {
  if (isSpecifiedScalarType(named)) return 'Scalars';
  return PAGE_NAME.test(named.name) ? CONNECTIONS : named.name;
}

/** The type in GraphQL's notation, with a link to its section. */
export const typeLink = (type: GraphQLType): string => link(`\`${type}\``, headingOf(getNamedType(type)));

/** What a list says of an argument or a field. */
export const definition = (name: string, type: string, words: string): string =>
  [`${name}: ${type}`, ...(words === '' ? [] : [words])].join('. ').replaceAll(/\s+/g, ' ');

export const fence = (language: string, text: string): string =>
  `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;

export const bullets = (items: readonly string[]): string[] =>
  items.length === 0 ? [] : [items.map((item) => `- ${item}`).join('\n')];

const LINE_LENGTH = 100;

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${onOneLine(item)}`);
  return `{ ${members.join(', ')} }`;
}

/** JSON in which a value that fits into a line stands on one. */
export function jsonLines(value: unknown, indent = ''): string {
  const line = onOneLine(value);
  const inner = `${indent}  `;
  if (typeof value !== 'object' || value === null || inner.length + line.length <= LINE_LENGTH) return line;
  const items = Array.isArray(value)
    ? value.map((item) => jsonLines(item, inner))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${jsonLines(item, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${items.map((item) => inner + item).join(',\n')}\n${indent}${close}`;
}
