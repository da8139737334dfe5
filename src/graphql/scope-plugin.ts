import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import type { GraphQLField, GraphQLFieldResolver } from 'graphql';
import { type Caller, isAuthenticated } from '../auth/principal.ts';
import type { Scope } from '../auth/scopes.ts';
import { ApiError, unauthenticated } from './errors.ts';

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      scopes: ScopePlugin<Types>;
    }
    interface FieldOptions {
      /** The scope that the caller needs for this field (contract section 3). */
      scope?: Scope;
      /** Asked for without credentials, the field refuses its operation as a whole, whatever ANONYMOUS_READ says. */
      account?: boolean;
    }
  }
}

interface Guards {
  readonly scope?: Scope;
  readonly account?: boolean;
}

/** Whether a field is refused to a caller who has no account and no more than these scopes. */
export function needsMoreThan(
  scopes: ReadonlySet<Scope>,
  { extensions }: Pick<GraphQLField<unknown, unknown>, 'extensions'>,
): boolean {
  const { scope, account } = extensions as Guards;
  return account === true || (scope !== undefined && !scopes.has(scope));
}

/** Throws FORBIDDEN where the caller's credentials lack the scope, UNAUTHENTICATED where it has none. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.has(scope)) return;
  if (!isAuthenticated(caller))
    throw unauthenticated('This needs credentials.', { 'www-authenticate': 'Bearer' });
  // RFC 6750 section 3.1: insufficient_scope, naming what is missing.
  throw new ApiError('FORBIDDEN', `This needs the scope "${scope}".`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}

/**
 * The field option `scope` is checked before the field's resolver, and before a subscription opens. `account` is kept
 * for the check of whole operations.
 */
class ScopePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { scope, account } = config.pothosOptions as Guards;
    const guards = { ...(scope === undefined ? {} : { scope }), ...(account === true ? { account } : {}) };
    return { ...config, extensions: { ...config.extensions, ...guards } };
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { pothosOptions }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    return guarded(resolve, (pothosOptions as Guards).scope);
  }

  override wrapSubscribe(
    subscribe: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    { pothosOptions }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    return subscribe && guarded(subscribe, (pothosOptions as Guards).scope);
  }
}

function guarded<C extends object>(
  resolve: GraphQLFieldResolver<unknown, C, object>,
  scope: Scope | undefined,
): GraphQLFieldResolver<unknown, C, object> {
  if (scope === undefined) return resolve;
  return (parent, args, context, info) => {
    requireScope((context as unknown as { caller: Caller }).caller, scope);
    return resolve(parent, args, context, info);
  };
}

SchemaBuilder.registerPlugin('scopes', ScopePlugin);
