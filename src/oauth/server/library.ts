import type * as OidcProvider from 'oidc-provider';

/** The parts of the OAuth library that are used. */
export interface Library {
  readonly Provider: typeof OidcProvider.default;
  readonly errors: typeof OidcProvider.errors;
  readonly interactionPolicy: typeof OidcProvider.interactionPolicy;
}

/**
 * Loads the OAuth library on first use: it takes longer than the rest of startup. Its modules are imported
 * one by one, because its index writes to the console on Node releases that are not LTS.
 */
export async function loadLibrary(): Promise<Library> {
  const load = (file: string): Promise<unknown> => import(`oidc-provider/lib/${file}.js`);
  const [{ Provider }, errors, interactionPolicy] = (await Promise.all([
    load('provider'),
    load('helpers/errors'),
    load('helpers/interaction_policy/index'),
  ])) as [{ Provider: Library['Provider'] }, Library['errors'], Library['interactionPolicy']];
  return { Provider, errors, interactionPolicy };
}
