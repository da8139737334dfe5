import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import type { GraphQLField, GraphQLFieldResolver } from 'graphql';
import { type Caller, isAuthenticated, isSession } from '../../auth/principal.ts';
import type { Scope } from '../../auth/scopes.ts';
import { ApiError, unauthenticated } from '../../platform/errors.ts';
import { withOptions } from './field-options.ts';

declare global {
  export namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      scopes: ScopePlugin<Types>;
    }
    interface FieldOptions {
      /** The scope that the caller needs for this field (contract: authentication and permissions). */
      scope?: Scope;
      /** True if the field rejects all credentials but sessions. */
      session?: boolean;
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

interface Permissions {
  readonly scope?: Scope;
  readonly session?: boolean;
  readonly scopeForOwn?: Scope;
  readonly scopeForOthers?: Scope;
  readonly secret?: boolean;
}

export function permissionsOf({
  extensions,
}: Pick<GraphQLField<unknown, unknown>, 'extensions'>): Permissions {
  return extensions as Permissions;
}

type Field = Pick<GraphQLField<unknown, unknown>, 'extensions'>;

const given = (scopes: readonly (Scope | undefined)[]) => scopes.filter((scope) => scope !== undefined);

export function scopesByRow(field: Field): readonly Scope[] {
  const { scopeForOwn, scopeForOthers } = permissionsOf(field);
  return given([scopeForOwn, scopeForOthers]);
}

/** @param own true for rows of the caller's own account */
export function getRequiredScopes(field: Field, own = false): readonly Scope[] {
  const { scope, scopeForOwn, scopeForOthers } = permissionsOf(field);
  return given([scope, scopeForOwn, own ? undefined : scopeForOthers]);
}

/** True if a caller with only these scopes and no account may not read the field. */
export function needsMoreThan(scopes: ReadonlySet<Scope>, field: Field): boolean {
  return (
    permissionsOf(field).session === true || getRequiredScopes(field).some((scope) => !scopes.has(scope))
  );
}

/** @throws {ApiError} UNAUTHENTICATED without credentials */
function requireCredentials(caller: Caller, subject: string): void {
  if (!isAuthenticated(caller))
    throw unauthenticated(`${subject} requires credentials.`, { 'www-authenticate': 'Bearer' });
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
export function requirePermissions(caller: Caller, { scope, session }: Permissions, subject: string): void {
  if (scope !== undefined) requireScope(caller, scope, subject);
  if (session !== true || isSession(caller)) return;
  requireCredentials(caller, subject);
  throw new ApiError('FORBIDDEN', `${subject} requires a session. Log in at /login.`, { retriable: true });
}

export function hasPermissions(caller: Caller, { scope, session }: Permissions): boolean {
  return (scope === undefined || caller.scopes.has(scope)) && (session !== true || isSession(caller));
}

/**
 * The checks run before the resolver and before a subscription opens. The field's extensions retain all options for
 * checks of whole operations.
 */
class ScopePlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const { scope, session, scopeForOwn, scopeForOthers, secret } = config.pothosOptions as Permissions;
    const needed = scope === undefined ? [] : [`Needs the scope \`${scope}\`.`];
    const description = [...(config.description == null ? [] : [config.description]), ...needed].join(' ');
    return withOptions({ ...config, description }, { scope, session, scopeForOwn, scopeForOthers, secret });
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

function permitted<C extends object, Types extends SchemaTypes>(
  resolve: GraphQLFieldResolver<unknown, C, object>,
  { pothosOptions, parentType, name }: PothosOutputFieldConfig<Types>,
): GraphQLFieldResolver<unknown, C, object> {
  const permissions = pothosOptions as Permissions;
  const subject = fieldNamed(`${parentType}.${name}`);
  if (permissions.scope === undefined && permissions.session !== true) return resolve;
  return (parent, args, context, info) => {
    requirePermissions((context as { caller: Caller }).caller, permissions, subject);
    return resolve(parent, args, context, info);
  };
}

SchemaBuilder.registerPlugin('scopes', ScopePlugin);
