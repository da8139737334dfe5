import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import type { GraphQLField, GraphQLFieldResolver } from 'graphql';
import { type Caller, isAuthenticated } from '../auth/principal.ts';
import type { Scope } from '../auth/scopes.ts';
import { ApiError, forbidden, unauthenticated } from './errors.ts';

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      scopes: ScopePlugin<Types>;
    }
    interface FieldOptions {
      /** The scope that the caller needs for this field (contract section 3). */
      scope?: Scope;
      /** Whether the field is for a person who has logged in, and for no other credentials. */
      session?: boolean;
      /** The scope that rows of other accounts take. The resolver checks it, and says so with `notedScope`. */
      scopeForOthers?: Scope;
      /** Whether the field holds a secret that is shown once. */
      secret?: boolean;
    }
  }
}

interface Guards {
  readonly scope?: Scope;
  readonly session?: boolean;
  readonly scopeForOthers?: Scope;
  readonly secret?: boolean;
}

/** What the options of a field ask of its callers. */
export function guardsOf({ extensions }: Pick<GraphQLField<unknown, unknown>, 'extensions'>): Guards {
  return extensions as Guards;
}

/**
 * Whether a field is refused to a caller who has no account and no more than these scopes. Without an account no row is
 * one's own.
 */
export function needsMoreThan(
  scopes: ReadonlySet<Scope>,
  field: Pick<GraphQLField<unknown, unknown>, 'extensions'>,
): boolean {
  const { scope, session, scopeForOthers } = guardsOf(field);
  return (
    session === true || [scope, scopeForOthers].some((asked) => asked !== undefined && !scopes.has(asked))
  );
}

/** Throws FORBIDDEN where the caller's credentials lack the scope, UNAUTHENTICATED where it has none. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.has(scope)) return;
  if (!isAuthenticated(caller))
    throw unauthenticated('Credentials are required.', { 'www-authenticate': 'Bearer' });
  // RFC 6750 section 3.1: insufficient_scope, naming what is missing.
  throw new ApiError('FORBIDDEN', `This requires the scope "${scope}".`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}

/** Throws FORBIDDEN to credentials other than a session (contract section 3), UNAUTHENTICATED where there are none. */
function requireSession(caller: Caller): void {
  if (caller.kind === 'session') return;
  if (!isAuthenticated(caller))
    throw unauthenticated('Credentials are required.', { 'www-authenticate': 'Bearer' });
  throw forbidden('This requires a session: log in at /login.');
}

/** Throws FORBIDDEN where the caller's credentials are not enough for a field, whatever row it is of. */
export function requireGuards(caller: Caller, { scope, session }: Guards): void {
  if (scope !== undefined) requireScope(caller, scope);
  if (session === true) requireSession(caller);
}

/**
 * The field options `scope` and `session` are checked before the field's resolver, and before a subscription opens. All
 * are kept for checks of whole operations. The description of a field names its scope.
 */
class ScopePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { scope, session, scopeForOthers, secret } = config.pothosOptions as Guards;
    const given = Object.entries({ scope, session, scopeForOthers, secret }).filter(
      ([, value]) => value !== undefined,
    );
    const needed = scope === undefined ? [] : [`Needs the scope \`${scope}\`.`];
    return {
      ...config,
      description: [...(config.description == null ? [] : [config.description]), ...needed].join(' '),
      extensions: { ...config.extensions, ...Object.fromEntries(given) },
    };
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { pothosOptions }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    return guarded(resolve, pothosOptions as Guards);
  }

  override wrapSubscribe(
    subscribe: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    { pothosOptions }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    return subscribe && guarded(subscribe, pothosOptions as Guards);
  }
}

function guarded<C extends object>(
  resolve: GraphQLFieldResolver<unknown, C, object>,
  guards: Guards,
): GraphQLFieldResolver<unknown, C, object> {
  if (guards.scope === undefined && guards.session !== true) return resolve;
  return (parent, args, context, info) => {
    requireGuards((context as unknown as { caller: Caller }).caller, guards);
    return resolve(parent, args, context, info);
  };
}

SchemaBuilder.registerPlugin('scopes', ScopePlugin);
