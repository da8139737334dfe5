/**
 * A generator for Prisma's CLI, which writes the row type and the columns of each table of `schema.prisma` to `tables.ts`.
 * Prisma starts it as a child process. The two exchange JSON-RPC messages, one a line. Requests arrive on standard input,
 * responses leave on standard error.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

interface Field {
  readonly name: string;
  readonly dbName?: string | null;
  readonly kind: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly isList: boolean;
  readonly documentation?: string;
}

interface Model extends Pick<Field, 'name' | 'dbName' | 'documentation'> {
  readonly fields: readonly Field[];
}

interface Enum {
  readonly name: string;
  readonly values: readonly { readonly name: string }[];
}

interface Request {
  readonly id: number;
  readonly method: 'getManifest' | 'generate';
  readonly params: {
    readonly generator: { readonly output: { readonly value: string } };
    readonly dmmf: {
      readonly datamodel: { readonly models: readonly Model[]; readonly enums: readonly Enum[] };
    };
  };
}

const HEADER = `// Generated from prisma/schema.prisma by scripts/tables-generator.ts.

/** A table of the database. */
export interface Table<Row extends object, Name extends string = string> {
  readonly name: Name;
  /** The name of the column of each property of a row. */
  readonly columns: { readonly [Property in keyof Row & string]: string };
  /** Never set: carries the row type. */
  readonly row?: Row;
}
`;

/** What the statements of the service return (`src/database/pg-query.ts`), which differs from Prisma's client. */
const TYPES: Readonly<Record<string, string>> = {
  String: 'string',
  Boolean: 'boolean',
  Int: 'number',
  Float: 'number',
  BigInt: 'number',
  DateTime: 'Date',
  Json: 'unknown',
  Bytes: 'Buffer',
};

const formatComment = (text: string | undefined, indent = '') =>
  text === undefined ? '' : `${indent}/** ${text.replaceAll('\n', ' ')} */\n`;

const isColumn = ({ kind }: Field) => kind === 'scalar' || kind === 'enum';

function formatProperty({ name, type, isList, isRequired, documentation }: Field): string {
  const one = TYPES[type] ?? type;
  const value = isList ? `readonly ${one}[]` : one;
  return `${formatComment(documentation, '  ')}  readonly ${name}: ${value}${isRequired ? '' : ' | null'};\n`;
}

const formatColumn = ({ name, dbName }: Field) => `    ${name}: '${dbName ?? name}',\n`;

function formatModel({ name, dbName, documentation, fields }: Model): string {
  const table = dbName ?? name;
  const columns = fields.filter(isColumn);
  const constant = table.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return `${formatComment(documentation)}export interface ${name} {
${columns.map(formatProperty).join('')}}

export const ${constant}: Table<${name}, '${table}'> = {
  name: '${table}',
  columns: {
${columns.map(formatColumn).join('')}  },
};
`;
}

const formatEnum = ({ name, values }: Enum) =>
  `export type ${name} = ${values.map((value) => `'${value.name}'`).join(' | ')};\n`;

function generate({ generator, dmmf: { datamodel } }: Request['params']): null {
  const parts = [HEADER, ...datamodel.enums.map(formatEnum), ...datamodel.models.map(formatModel)];
  writeFileSync(join(generator.output.value, 'tables.ts'), parts.join('\n'));
  return null;
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line) as Request;
  const result =
    method === 'generate' ? generate(params) : { manifest: { prettyName: 'Tables', defaultOutput: '.' } };
  process.stderr.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
});
