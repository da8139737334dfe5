import type * as OidcProvider from 'oidc-provider';

/** What is used of the OAuth library. */
export interface Library {
  readonly Provider: typeof OidcProvider.default;
  readonly errors: typeof OidcProvider.errors;
  readonly interactionPolicy: typeof OidcProvider.interactionPolicy;
}

/**
 * Loads the OAuth library when it is first needed: it takes longer than all else of a start. Its parts are loaded one
 * by one because its index writes to the console on a Node that is not an LTS release.
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
