import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import type { GraphQLField, GraphQLFieldResolver } from 'graphql';
import { type Caller, isAuthenticated, isSession } from '../../auth/principal.ts';
import type { Scope } from '../../auth/scopes.ts';
import { ApiError, forbidden, unauthenticated } from '../../platform/errors.ts';
import { withOptions } from './field-options.ts';

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      scopes: ScopePlugin<Types>;
    }
    interface FieldOptions {
      /** The scopes that the caller needs for this field (contract: credentials). */
      scope?: Scope | readonly Scope[];
      /** True if the field rejects all credentials but sessions. */
      session?: boolean;
      /** True if the field of an account rejects all callers but the account itself. */
      ownOnly?: boolean;
      /**
       * The scope needed for rows of the caller's own account. The resolver checks the scope, adds it to `notedScopes`,
       * and reads the value by the row's id. Reading the value with the row would reveal its size to callers without
       * the scope.
       */
      scopeForOwn?: Scope;
      /** The scope needed for rows of other accounts. */
      scopeForOthers?: Scope;
      /** True if the field returns a secret that is shown only once. */
      secret?: boolean;
    }
  }
}

type Permissions = Pick<
  PothosSchemaTypes.FieldOptions,
  'scope' | 'session' | 'ownOnly' | 'scopeForOwn' | 'scopeForOthers' | 'secret'
>;

export function permissionsOf({
  extensions,
}: Pick<GraphQLField<unknown, unknown>, 'extensions'>): Permissions {
  return extensions as Permissions;
}

type Field = Pick<GraphQLField<unknown, unknown>, 'extensions'>;

const given = (scopes: readonly (Scope | undefined)[]) => scopes.filter((scope) => scope !== undefined);

const toList = ({ scope = [] }: Pick<Permissions, 'scope'>): readonly Scope[] =>
  typeof scope === 'string' ? [scope] : scope;

/** The scopes that a field needs for every row. */
export const scopesForAll = (field: Field): readonly Scope[] => toList(permissionsOf(field));

export function scopesByRow(field: Field): readonly Scope[] {
  const { scopeForOwn, scopeForOthers } = permissionsOf(field);
  return given([scopeForOwn, scopeForOthers]);
}

/** @param own true for rows of the caller's own account */
export function getRequiredScopes(field: Field, own = false): readonly Scope[] {
  const { scopeForOwn, scopeForOthers } = permissionsOf(field);
  return [...scopesForAll(field), ...given([scopeForOwn, own ? undefined : scopeForOthers])];
}

/** True if a caller with only these scopes and no account may not read the field. */
export function needsMoreThan(scopes: ReadonlySet<Scope>, field: Field): boolean {
  return (
    permissionsOf(field).session === true || getRequiredScopes(field).some((scope) => !scopes.has(scope))
  );
}

/** @throws {ApiError} UNAUTHENTICATED without credentials */
function requireCredentials(caller: Caller, subject: string): void {
  if (!isAuthenticated(caller)) throw unauthenticated(`${subject} requires credentials.`);
}

/** @throws {ApiError} FORBIDDEN if the credentials lack the scope; UNAUTHENTICATED without credentials */
export function requireScope(caller: Caller, scope: Scope, subject: string): void {
  if (caller.scopes.has(scope)) return;
  requireCredentials(caller, subject);
  // RFC 6750 defines `insufficient_scope` with the missing scope.
  throw new ApiError('FORBIDDEN', scopeMissing(scope, subject), {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
    retriable: true,
  });
}

export const scopeMissing = (scope: Scope, subject: string) => `${subject} requires the scope "${scope}".`;

/** A GraphQLField converts to its schema coordinate. */
export const fieldNamed = (field: GraphQLField<unknown, unknown> | string) => `Field "${field}"`;

/** @throws {ApiError} FORBIDDEN or UNAUTHENTICATED if the credentials do not suffice for every row of a field */
export function requirePermissions(caller: Caller, permissions: Permissions, subject: string): void {
  for (const scope of toList(permissions)) requireScope(caller, scope, subject);
  if (permissions.session !== true || isSession(caller)) return;
  requireCredentials(caller, subject);
  const login = 'Log in at /login. An account without a password needs a link to set a password first.';
  throw new ApiError('FORBIDDEN', `${subject} requires a session. ${login}`, { retriable: true });
}

export function hasPermissions(caller: Caller, permissions: Permissions): boolean {
  const hasScopes = toList(permissions).every((scope) => caller.scopes.has(scope));
  return hasScopes && (permissions.session !== true || isSession(caller));
}

const describeScopes = (scopes: readonly Scope[]): string =>
  `Needs the scope${scopes.length === 1 ? '' : 's'} ${scopes.map((scope) => `\`${scope}\``).join(' and ')}.`;

/**
 * The checks run before the resolver and before a subscription opens. The field's extensions retain all options for
 * checks of whole operations.
 */
class ScopePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const permissions = config.pothosOptions as Permissions;
    const { scope, session, ownOnly, scopeForOwn, scopeForOthers, secret } = permissions;
    const needed = scope === undefined ? [] : [describeScopes(toList(permissions))];
    const description = [...(config.description == null ? [] : [config.description]), ...needed].join(' ');
    return withOptions(
      { ...config, description },
      { scope, session, ownOnly, scopeForOwn, scopeForOthers, secret },
    );
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    config: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    return permitted(resolve, config);
  }

  override wrapSubscribe(
    subscribe: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    config: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    return subscribe && permitted(subscribe, config);
  }
}

const isOwn = (caller: Caller, account: unknown): boolean =>
  isAuthenticated(caller) && (account as { readonly id: string }).id === caller.userId;

function permitted<C extends object, Types extends SchemaTypes>(
  resolve: GraphQLFieldResolver<unknown, C, object>,
  { pothosOptions, parentType, name }: PothosOutputFieldConfig<Types>,
): GraphQLFieldResolver<unknown, C, object> {
  const permissions = pothosOptions as Permissions;
  const subject = fieldNamed(`${parentType}.${name}`);
  const { scope, session, ownOnly } = permissions;
  if (scope === undefined && session !== true && ownOnly !== true) return resolve;
  return (parent, args, context, info) => {
    const { caller } = context as { caller: Caller };
    requirePermissions(caller, permissions, subject);
    if (ownOnly === true && !isOwn(caller, parent))
      throw forbidden(`${subject} can only be read by the account itself.`);
    return resolve(parent, args, context, info);
  };
}

SchemaBuilder.registerPlugin('scopes', ScopePlugin);
