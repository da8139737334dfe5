import type { DefineCommands } from '../admin/cli/connection.ts';
import type { AccountWriteQueue } from '../auth/account-write-queue.ts';
import type { AuthStrategy } from '../auth/authenticate.ts';
import type { ExportSection } from '../auth/data-export.ts';
import type { Login, Passwords } from '../auth/login.ts';
import type { CredentialRevocation, Revocations } from '../auth/revocation.ts';
import type { SecretServices } from '../auth/secrets.ts';
import type { SecurityLog } from '../auth/security-log.ts';
import type { EndSession } from '../auth/sessions.ts';
import type { Database } from '../database/database.ts';
import type { Job } from '../database/jobs.ts';
import type { SchemaToolkit } from '../engine/builder/schema-toolkit.ts';
import type { Route } from '../http/exchange.ts';
import type { InternalOperations } from '../http/internal-operations.ts';
import type { RateLimiter } from '../http/rate-limit/limiter.ts';
import type { Config } from '../platform/config/config.ts';
import type { Metrics } from '../platform/metrics/metrics.ts';
import type { ContentLimits } from '../schema/content-limits.ts';
import type { UserTypes } from '../schema/user/type.ts';

/**
 * A part of the service that the core does not know (decisions/0033-feature-registration.md). The server, the schema and the
 * command line each load only their part of a feature.
 */
export interface Feature {
  /** Credentials that the feature issues to accounts, in the order of their revocation. */
  readonly revocations: readonly CredentialRevocation[];
  /** Data about an account for `admin user export`. */
  readonly exportSections: readonly ExportSection[];
  /**
   * SQL with the text columns `id` and `name`. Reports name the clients of the feature's credentials by it.
   */
  readonly clientNames?: string;
  /** The jobs run in this order. */
  jobs(config: Config): readonly Job[];
  /** A server loads the feature's credentials and paths. */
  server(): Promise<CreateFeature>;
  /** The schema loads the feature's types, and its fields on types of the modules. */
  fields(): Promise<DefineFields>;
  /** The command line loads the feature's commands. */
  commands(): Promise<DefineCommands>;
}

export interface FeatureServices extends SecretServices {
  readonly config: Config;
  readonly database: Database;
  readonly metrics: Metrics;
  /** The public origin of the service. It is known once the service listens. */
  readonly origin: () => string;
}

/** Services for routes, which exist only after all credentials are known. */
export interface RouteServices {
  readonly sessions: AuthStrategy;
  readonly endSession: EndSession;
  readonly login: Login;
  readonly passwords: Passwords;
  readonly accountWriteQueue: AccountWriteQueue;
  readonly passwordChangeRevocations: Revocations;
  readonly limiter: RateLimiter;
  readonly securityLog: SecurityLog;
  /** Operations of the API for server-rendered pages. */
  readonly operations: InternalOperations;
  readonly exportSections: readonly ExportSection[];
}

export interface FeatureServer {
  readonly authStrategies: readonly AuthStrategy[];
  routes(services: RouteServices): readonly Route[];
}

export type CreateFeature = (services: FeatureServices) => FeatureServer;

export type DefineFields = (toolkit: SchemaToolkit, user: UserTypes, limits: ContentLimits) => void;
