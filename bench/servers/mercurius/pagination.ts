/** A row with a place in the order of a connection. */
interface Placed {
  readonly id: string;
  readonly createdAt: Date;
}

export interface Connection<Row> {
  readonly edges: { readonly cursor: string; readonly node: Row }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** What a client may ask of a connection. */
export interface PageArguments {
  readonly first: number;
  readonly after?: string | null;
}

const TIME_LENGTH = 8;

function encodeCursor({ id, createdAt }: Placed): string {
  const bytes = Buffer.allocUnsafe(TIME_LENGTH + 16);
  bytes.writeBigInt64BE(BigInt(createdAt.getTime()));
  bytes.write(id.replaceAll('-', ''), TIME_LENGTH, 'hex');
  return bytes.toString('base64url');
}

/** The time and the id, as values of a statement. */
export function decodeCursor(cursor: string): [Date, string] {
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length !== TIME_LENGTH + 16) throw new Error('not a cursor');
  return [new Date(Number(bytes.readBigInt64BE())), bytes.toString('hex', TIME_LENGTH)];
}

/** A connection out of its rows, of which there is one more where there is a next page. */
export function connectionOf<Row extends Placed>(found: readonly Row[], first: number): Connection<Row> {
  const edges = found.slice(0, first).map((node) => ({ cursor: encodeCursor(node), node }));
  return {
    edges,
    pageInfo: { hasNextPage: found.length > first, endCursor: edges.at(-1)?.cursor ?? null },
  };
}
