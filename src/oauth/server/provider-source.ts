import type { default as Provider } from 'oidc-provider';
import type { KeyRing } from '../tokens/key-ring.ts';
import { type Library, loadLibrary } from './library.ts';
import { createProvider, type ProviderOptions } from './provider.ts';

export interface ProviderSourceOptions
  extends Pick<ProviderOptions, 'database' | 'settle' | 'renderError' | 'clock'> {
  readonly issuer: () => string;
  readonly keys: KeyRing;
  /** Called for each provider that is created. */
  readonly onCreated: (provider: Provider) => void;
}

/** Returns a provider with the current signing key. Throws DatabaseError. */
export type ProviderSource = () => Promise<Provider>;

export function createProviderSource({
  issuer,
  keys,
  onCreated,
  ...options
}: ProviderSourceOptions): ProviderSource {
  let library: Promise<Library> | undefined;
  let made: { readonly name: string; readonly provider: Provider } | undefined;

  return async () => {
    library ??= loadLibrary().catch((error: unknown) => {
      library = undefined;
      throw error;
    });
    const [loaded, signer] = await Promise.all([library, keys.signer()]);
    const name = `${issuer()} ${signer.id}`;
    if (made?.name !== name) {
      const provider = createProvider({
        ...options,
        library: loaded,
        issuer: issuer(),
        signer,
      });
      onCreated(provider);
      made = { name, provider };
    }
    return made.provider;
  };
}
