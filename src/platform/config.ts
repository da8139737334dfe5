import { existsSync } from 'node:fs';
import { z } from 'zod';
import { isLoopbackHost } from './loopback.ts';
import {
  databaseUrl,
  decimal,
  flag,
  httpUrl,
  integer,
  isNetwork,
  isOrigin,
  list,
  publicKey,
  redisUrl,
  secret,
} from './settings.ts';
import { isWeak } from './weak-secret.ts';

/** The settings are invalid. `problems` holds one sentence per mistake. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      `The settings have ${problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`}:\n${problems.map((p) => `  - ${p}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

/** The origin from HOST and PORT (contract section 2). PUBLIC_URL takes precedence. */
export function ownOrigin({ host, port }: Pick<Config, 'host' | 'port'>): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const variables = z.object({
  NODE_ENV: z
    .enum(['development', 'production', 'test'], { error: 'must be development, production or test' })
    .default('development'),
  DATABASE_URL: databaseUrl.optional(),
  DIRECT_DATABASE_URL: databaseUrl.optional(),
  DATABASE_POOL_SIZE: integer(1, 1000).default(10),
  DATA_DIR: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: integer(0, 65_535).default(4000),
  PUBLIC_URL: z
    .string()
    .refine(isOrigin, { error: 'must be an origin such as https://api.example.com, without a path' })
    .optional(),
  TRUST_PROXY: list
    .refine((items) => items.every(isNetwork), {
      error: 'must be a comma-separated list of addresses or networks such as 10.0.0.0/8',
    })
    .default([]),
  CORS_ORIGINS: list
    // As addresses are copied from a browser.
    .transform((items) => items.map((item) => item.replace(/\/$/, '')))
    .refine((items) => items.every(isOrigin), {
      error: 'must be a comma-separated list of origins such as https://app.example.com',
    })
    .default([]),
  SECRET_KEY: secret.optional(),
  JWT_SECRET: secret.optional(),
  JWT_PUBLIC_KEY: publicKey.optional(),
  JWT_JWKS_URL: httpUrl.optional(),
  JWT_ISSUER: z.string().optional(),
  JWT_AUDIENCE: z.string().optional(),
  CREDENTIAL_RECHECK_MS: integer(10, 30_000).default(15_000),
  ANONYMOUS_READ: flag.default(false),
  INTROSPECTION: flag.optional(),
  GRAPHIQL: flag.optional(),
  EVENT_RETENTION_HOURS: decimal(0.01, 8_760).default(24),
  IDEMPOTENCY_RETENTION_HOURS: decimal(0.01, 8_760).default(24),
  IDEMPOTENCY_STORED_FORM: integer(1, 2).default(1),
  METRICS_TOKEN: z.string().min(16, { error: 'must be at least 16 characters long' }).optional(),
  REDIS_URL: redisUrl.optional(),
  RATE_LIMIT_BURST: integer(1, 1_000_000).default(100),
  RATE_LIMIT_PER_SECOND: decimal(0.001, 1_000_000).default(20),
  ACCOUNT_LIMIT_FACTOR: integer(1, 1_000).default(4),
  FAILURE_BURST: integer(1, 1_000_000).default(10),
  FAILURE_REFILL_SECONDS: decimal(0.001, 86_400).default(30),
  MAX_DEPTH: integer(1, 100).default(10),
  MAX_COMPLEXITY: integer(1, 10_000_000).default(5_000),
  MAX_ALIASES: integer(0, 10_000).default(30),
  MAX_TOKENS: integer(10, 100_000).default(1_000),
  MAX_ROOT_FIELDS: integer(1, 10_000).default(50),
  MAX_DIRECTIVES: integer(0, 10_000).default(50),
  MAX_FIELD_PAIRS: integer(0, 1_000_000).default(1_000),
  MAX_RESPONSE_BYTES: integer(10_000, 268_435_456).default(8_388_608),
  MAX_PENDING_RESPONSE_BYTES: integer(100_000, 1_000_000_000_000).default(268_435_456),
  MAX_STREAMS: integer(1, 100_000).default(10),
  MAX_EVENT_GROUPS: integer(1, 1_000_000).default(10_000),
  MAX_BODY_BYTES: integer(1_000, 100_000_000).default(262_144),
  MAX_BUFFERED_BODY_BYTES: integer(1_000, 10_000_000_000).default(67_108_864),
  MAX_CONCURRENT_OPERATIONS: integer(1, 100_000).default(64),
  MAX_QUEUED_OPERATIONS: integer(0, 100_000).default(256),
  REQUEST_TIMEOUT_MS: integer(100, 600_000).default(10_000),
  OPERATION_TIMEOUT_MS: integer(100, 600_000).default(10_000),
  STATEMENT_TIMEOUT_MS: integer(100, 600_000).default(5_000),
  SHUTDOWN_DELAY: integer(0, 600).optional(),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be trace, debug, info, warn, error, fatal or silent',
    })
    .default('info'),
});

/** The names of all settings, in the order of `.env.example`. */
export const SETTING_NAMES: readonly string[] = Object.keys(variables.shape);

/** All settings, validated. Names of durations end in their unit. */
export interface Config {
  readonly environment: 'development' | 'production' | 'test';
  readonly database:
    | { readonly kind: 'embedded'; readonly dataDir: string }
    | {
        readonly kind: 'postgres';
        readonly url: string;
        readonly directUrl: string;
        readonly poolSize: number;
      };
  readonly dataDir: string;
  readonly host: string;
  readonly port: number;
  /** The service's own origin. Undefined means http://HOST:PORT, which is known once the service listens. */
  readonly publicUrl: string | undefined;
  readonly trustProxy: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly secretKey: string | undefined;
  /** How third-party JWTs are verified. Without any key, none is accepted. */
  readonly jwt: {
    readonly secret: string | undefined;
    readonly publicKey: string | undefined;
    readonly jwksUrl: string | undefined;
    readonly issuer: string | undefined;
    readonly audience: string | undefined;
  };
  /** How often the credentials behind an open event stream are rechecked. */
  readonly credentialRecheckMs: number;
  readonly anonymousRead: boolean;
  readonly introspection: boolean;
  readonly graphiql: boolean;
  readonly eventRetentionMs: number;
  /** `storedForm` is the newest form in which responses are stored (docs/idempotency.md). */
  readonly idempotency: { readonly retentionMs: number; readonly storedForm: 1 | 2 };
  readonly metricsToken: string | undefined;
  readonly redisUrl: string | undefined;
  readonly rateLimit: { readonly burst: number; readonly perSecond: number };
  /** The combined limit of an account's credentials, as a multiple of one client's limit. */
  readonly accountLimitFactor: number;
  /** Applies per address and per account. Failed logins and failed credentials are counted separately. */
  readonly failureLimit: { readonly burst: number; readonly perSecond: number };
  readonly operationLimits: {
    readonly maxDepth: number;
    readonly maxComplexity: number;
    readonly maxAliases: number;
    readonly maxTokens: number;
    readonly maxRootFields: number;
    readonly maxDirectives: number;
    /** Pairs of same-named fields within one selection, which validation compares with each other. */
    readonly maxFieldPairs: number;
  };
  /** For one response body, event or stored response, before compression. */
  readonly maxResponseBytes: number;
  /** Total of all responses that are being built or not yet read. */
  readonly maxPendingResponseBytes: number;
  readonly maxStreams: number;
  /** Groups of event streams that get the same. */
  readonly maxEventGroups: number;
  readonly maxBodyBytes: number;
  /** Total of all unanswered requests. */
  readonly maxBufferedBodyBytes: number;
  readonly maxConcurrentOperations: number;
  readonly maxQueuedOperations: number;
  readonly requestTimeoutMs: number;
  readonly operationTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly shutdownDelayMs: number;
  readonly logLevel: string;
}

function productionProblems(v: z.infer<typeof variables>): string[] {
  const problems: string[] = [];
  if (v.DATABASE_URL === undefined && v.DATA_DIR === undefined)
    problems.push(
      'DATABASE_URL is required in production: the address of the PostgreSQL server. To use the embedded database instead, set DATA_DIR to a folder that is backed up.',
    );
  if (v.SECRET_KEY === undefined)
    problems.push(
      'SECRET_KEY is required in production: at least 32 random bytes, for example from "openssl rand -base64 48".',
    );
  else if (isWeak(v.SECRET_KEY))
    problems.push('SECRET_KEY is weak: use random bytes, for example from "openssl rand -base64 48".');
  if (v.JWT_SECRET !== undefined && isWeak(v.JWT_SECRET))
    problems.push('JWT_SECRET is weak: use random bytes, for example from "openssl rand -base64 48".');
  const jwks = v.JWT_JWKS_URL === undefined ? undefined : new URL(v.JWT_JWKS_URL);
  if (jwks?.protocol === 'http:' && !isLoopbackHost(jwks.hostname))
    problems.push('JWT_JWKS_URL must be https in production.');
  if (v.PUBLIC_URL === undefined)
    problems.push('PUBLIC_URL is required in production: the https origin that clients use.');
  else if (!v.PUBLIC_URL.startsWith('https://')) problems.push('PUBLIC_URL must be https in production.');
  return problems;
}

/**
 * Reads the settings from `environment`. An empty value counts as unset. Throws ConfigError, which lists all
 * mistakes.
 */
export function loadConfig(environment: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(
    SETTING_NAMES.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
  );
  const issues = variables.safeParse(given).error?.issues ?? [];
  const broken = new Set(issues.map(({ path: [name] }) => String(name)));
  // Checks across settings use only the individually valid ones.
  const v = variables.parse(Object.fromEntries(Object.entries(given).filter(([name]) => !broken.has(name))));
  const production = v.NODE_ENV === 'production';
  const together = [
    ...(production ? productionProblems(v) : []),
    ...(v.DIRECT_DATABASE_URL !== undefined && v.DATABASE_URL === undefined
      ? ['DIRECT_DATABASE_URL requires DATABASE_URL, which is not set.']
      : []),
    ...(v.MAX_BUFFERED_BODY_BYTES < v.MAX_BODY_BYTES
      ? ['MAX_BUFFERED_BODY_BYTES must be at least MAX_BODY_BYTES, so that one body fits.']
      : []),
  ].filter((problem) => ![...broken].some((name) => problem.includes(name)));
  const problems = [...issues.map(({ path, message }) => `${path.join('.')} ${message}.`), ...together];
  if (problems.length > 0) throw new ConfigError(problems);
  const dataDir = v.DATA_DIR ?? '.data';
  return {
    environment: v.NODE_ENV,
    database:
      v.DATABASE_URL === undefined
        ? { kind: 'embedded', dataDir }
        : {
            kind: 'postgres',
            url: v.DATABASE_URL,
            directUrl: v.DIRECT_DATABASE_URL ?? v.DATABASE_URL,
            poolSize: v.DATABASE_POOL_SIZE,
          },
    dataDir,
    host: v.HOST,
    port: v.PORT,
    publicUrl: v.PUBLIC_URL,
    trustProxy: v.TRUST_PROXY,
    corsOrigins: v.CORS_ORIGINS,
    secretKey: v.SECRET_KEY,
    jwt: {
      secret: v.JWT_SECRET,
      publicKey: v.JWT_PUBLIC_KEY,
      jwksUrl: v.JWT_JWKS_URL,
      issuer: v.JWT_ISSUER,
      audience: v.JWT_AUDIENCE,
    },
    credentialRecheckMs: v.CREDENTIAL_RECHECK_MS,
    anonymousRead: v.ANONYMOUS_READ,
    introspection: v.INTROSPECTION ?? !production,
    graphiql: v.GRAPHIQL ?? !production,
    eventRetentionMs: v.EVENT_RETENTION_HOURS * 3_600_000,
    idempotency: {
      retentionMs: v.IDEMPOTENCY_RETENTION_HOURS * 3_600_000,
      storedForm: v.IDEMPOTENCY_STORED_FORM === 2 ? 2 : 1,
    },
    metricsToken: v.METRICS_TOKEN,
    redisUrl: v.REDIS_URL,
    rateLimit: { burst: v.RATE_LIMIT_BURST, perSecond: v.RATE_LIMIT_PER_SECOND },
    accountLimitFactor: v.ACCOUNT_LIMIT_FACTOR,
    failureLimit: { burst: v.FAILURE_BURST, perSecond: 1 / v.FAILURE_REFILL_SECONDS },
    operationLimits: {
      maxDepth: v.MAX_DEPTH,
      maxComplexity: v.MAX_COMPLEXITY,
      maxAliases: v.MAX_ALIASES,
      maxTokens: v.MAX_TOKENS,
      maxRootFields: v.MAX_ROOT_FIELDS,
      maxDirectives: v.MAX_DIRECTIVES,
      maxFieldPairs: v.MAX_FIELD_PAIRS,
    },
    maxResponseBytes: v.MAX_RESPONSE_BYTES,
    maxPendingResponseBytes: v.MAX_PENDING_RESPONSE_BYTES,
    maxStreams: v.MAX_STREAMS,
    maxEventGroups: v.MAX_EVENT_GROUPS,
    maxBodyBytes: v.MAX_BODY_BYTES,
    maxBufferedBodyBytes: v.MAX_BUFFERED_BODY_BYTES,
    maxConcurrentOperations: v.MAX_CONCURRENT_OPERATIONS,
    maxQueuedOperations: v.MAX_QUEUED_OPERATIONS,
    requestTimeoutMs: v.REQUEST_TIMEOUT_MS,
    operationTimeoutMs: v.OPERATION_TIMEOUT_MS,
    statementTimeoutMs: v.STATEMENT_TIMEOUT_MS,
    shutdownDelayMs: (v.SHUTDOWN_DELAY ?? (production ? 5 : 0)) * 1000,
    logLevel: v.LOG_LEVEL,
  };
}

/** Reads the process's environment; a `.env` file fills in unset variables. Throws ConfigError. */
export function loadProcessConfig(): Config {
  if (existsSync('.env')) process.loadEnvFile('.env');
  return loadConfig(process.env);
}
