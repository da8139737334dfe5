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
 * A part of the service that the core does not know (decision 33). The server, the schema and the command line are
 * started apart: each imports its part of a feature by a call, and loads nothing of the others.
 */
export interface Feature {
  /** What it issues to accounts, in the order in which it is revoked. */
  readonly revocations: readonly CredentialRevocation[];
  /** What it stores about an account. */
  readonly exportSections: readonly ExportSection[];
  /** SQL of the columns "id" and "name", both text: the clients that its credentials are of, for reports. */
  readonly clientNames?: string;
  /** Its jobs, in the order in which they run. */
  jobs(config: Config): readonly Job[];
  /** For a server: its credentials and its paths. */
  server(): Promise<CreateFeature>;
  /** For the schema: its types, and its fields on the types of the modules. */
  fields(): Promise<DefineFields>;
  /** For the command line. */
  commands(): Promise<DefineCommands>;
}

/** What the credentials of a feature are made of. */
export interface FeatureServices extends SecretServices {
  readonly config: Config;
  readonly database: Database;
  readonly metrics: Metrics;
  /** The public origin of the service, which is known once it listens. */
  readonly origin: () => string;
}

/** What its routes may use, which is made when all credentials are known. */
export interface RouteServices {
  /** Authenticates the service's sessions. */
  readonly sessions: AuthStrategy;
  readonly endSession: EndSession;
  readonly login: Login;
  readonly passwords: Passwords;
  readonly accountWriteQueue: AccountWriteQueue;
  /** What a new password revokes. */
  readonly passwordChangeRevocations: Revocations;
  readonly limiter: RateLimiter;
  readonly securityLog: SecurityLog;
  /** Operations of the API, for pages that do what it does. */
  readonly operations: InternalOperations;
  /** All that is stored about an account. */
  readonly exportSections: readonly ExportSection[];
}

/** What a feature brings to one server. */
export interface FeatureServer {
  readonly authStrategies: readonly AuthStrategy[];
  routes(services: RouteServices): readonly Route[];
}

export type CreateFeature = (services: FeatureServices) => FeatureServer;

export type DefineFields = (toolkit: SchemaToolkit, user: UserTypes, limits: ContentLimits) => void;
