/** A release, as the first line of `schema.released.graphql` names it. */
export interface Release {
  readonly version: string;
  readonly at: Date;
}

const HEAD = /^# Version (\d+\.\d+\.\d+), released at (\S+)\n/;

export const headOf = ({ version, at }: Release): string =>
  `# Version ${version}, released at ${at.toISOString()}\n`;

/** The release of a schema. Throws if its first line names none. */
export function releaseOf(text: string): Release {
  const [, version, at] = HEAD.exec(text) ?? [];
  if (version === undefined || at === undefined || Number.isNaN(Date.parse(at)))
    throw new Error('schema.released.graphql does not begin with its version and date');
  return { version, at: new Date(at) };
}
