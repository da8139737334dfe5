let known: Promise<ReadonlySet<string>> | undefined;

/** Loaded with the first password that is set: a server may run for days without one. */
async function load(min: number): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common'].filter(({ length }) => length >= min));
}

/**
 * Whether many people use a password, or had it stolen (NIST SP 800-63B section 3.1.1.2): it is compared whole, ignoring
 * case, with those of a list that have at least `min` characters.
 */
export async function isCommon(password: string, min: number): Promise<boolean> {
  known ??= load(min).catch((error: unknown) => {
    known = undefined;
    throw error;
  });
  return (await known).has(password.toLowerCase());
}
