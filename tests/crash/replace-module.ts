import { registerHooks } from 'node:module';

/**
 * Has the service load another module in place of one of its own, for a hook that is loaded with `--import`. The modules
 * that are based on the service's own still get that.
 */
export function replaceModule(path: string, replacement: string, ...basedOnOwn: readonly string[]): void {
  const exempt = [replacement, ...basedOnOwn];
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const isReplaced = resolved.url.endsWith(path) && !exempt.includes(context.parentURL ?? '');
      return isReplaced ? { ...resolved, url: replacement } : resolved;
    },
  });
}
