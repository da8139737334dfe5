interface Extended {
  readonly extensions?: Readonly<Record<string, unknown>> | null | undefined;
}

/** The configuration of a field with these of its options, where what looks at the schema finds them. */
export function withOptions<Config extends Extended>(
  config: Config,
  options: Readonly<Record<string, unknown>>,
): Config {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  if (given.length === 0) return config;
  return { ...config, extensions: { ...config.extensions, ...Object.fromEntries(given) } };
}
