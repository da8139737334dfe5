import { existsSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { OperatorError } from '../errors.ts';
import { isLoopbackHost } from '../ip-address.ts';
import { misspelledSettings } from './misspelled-settings.ts';
import { NotTextError, readText, valuesFromFiles } from './setting-files.ts';
import { FILE_SETTINGS, SETTING_NAMES, type SettingValues, variables } from './setting-table.ts';

const HOUR_MS = 3_600_000;
const WEAK_WORDS = /change.?me|secret|password|example/i;
const MIN_DISTINCT_CHARACTERS = 8;

export class ConfigError extends OperatorError {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(
      `The settings have ${problems.length === 1 ? 'an error' : `${problems.length} errors`}:\n${problems.map((p) => `  - ${p}`).join('\n')}`,
    );
    this.problems = problems;
  }
}

export function ownOrigin({ host, port }: Pick<Config, 'host' | 'port'>): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

export type Config = ReturnType<typeof toConfig>;
export type TracingSettings = NonNullable<Config['tracing']>;

/** True for known words, few distinct characters, or a repeated part. */
function isWeak(secret: string): boolean {
  if (WEAK_WORDS.test(secret) || new Set(secret).size < MIN_DISTINCT_CHARACTERS) return true;
  // A secret repeats with a period if it starts with itself shifted by the period.
  for (let period = 1; period <= secret.length / 2; period += 1)
    if (secret.startsWith(secret.slice(period))) return true;
  return false;
}

function productionProblems(v: SettingValues): string[] {
  const problems: string[] = [];
  if (v.DATABASE_URL === undefined && v.DATA_DIR === undefined)
    problems.push(
      'DATABASE_URL is required in production, such as postgres://user:password@host:5432/database. To use the embedded database instead, set DATA_DIR to a directory that is backed up.',
    );
  if (v.SECRET_KEY === undefined)
    problems.push(
      'SECRET_KEY is required in production: at least 32 random bytes, for example from "openssl rand -base64 48".',
    );
  for (const name of ['SECRET_KEY', 'JWT_SECRET', 'METRICS_TOKEN'] as const)
    if (v[name] !== undefined && isWeak(v[name]))
      problems.push(`${name} is weak: use random bytes, for example from "openssl rand -base64 48".`);
  const jwks = v.JWT_JWKS_URL === undefined ? undefined : new URL(v.JWT_JWKS_URL);
  if (jwks?.protocol === 'http:' && !isLoopbackHost(jwks.hostname))
    problems.push(`JWT_JWKS_URL must be an https URL in production, but is "${v.JWT_JWKS_URL}".`);
  if (v.PUBLIC_URL === undefined)
    problems.push(
      'PUBLIC_URL is required in production: the https origin that clients use, such as https://api.example.com.',
    );
  else if (!v.PUBLIC_URL.startsWith('https://'))
    problems.push(`PUBLIC_URL must be an https origin in production, but is "${v.PUBLIC_URL}".`);
  return problems;
}

const schemaOf = (url: string): string | undefined => new URL(url).searchParams.get('schema') || undefined;

function databaseOf(v: SettingValues, dataDir: string) {
  if (v.DATABASE_URL === undefined) return { kind: 'embedded', dataDir } as const;
  return {
    kind: 'postgres',
    url: v.DATABASE_URL,
    directUrl: v.DIRECT_DATABASE_URL ?? v.DATABASE_URL,
    schema: schemaOf(v.DATABASE_URL),
    poolSize: v.DATABASE_POOL_SIZE,
  } as const;
}

const bucket = (burst: number, perSecond: number) => ({ burst, perSecond }) as const;

const TRACES_PATH = 'v1/traces';
const DEFAULT_SERVICE_NAME = 'content-graph';

/** Undefined if no traces are exported. */
function tracingOf(v: SettingValues) {
  const endpoint = v.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, '');
  const url =
    v.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ??
    (endpoint === undefined ? endpoint : `${endpoint}/${TRACES_PATH}`);
  if (url === undefined || v.OTEL_TRACES_EXPORTER === 'none') return undefined;
  const sampler = v.OTEL_TRACES_SAMPLER;
  const most = v.OTEL_BSP_MAX_QUEUE_SIZE;
  return {
    url,
    headers: v.OTEL_EXPORTER_OTLP_HEADERS,
    timeoutMs: v.OTEL_EXPORTER_OTLP_TIMEOUT,
    resource: {
      'service.name': DEFAULT_SERVICE_NAME,
      ...v.OTEL_RESOURCE_ATTRIBUTES,
      ...(v.OTEL_SERVICE_NAME === undefined ? {} : { 'service.name': v.OTEL_SERVICE_NAME }),
    },
    /** The sampled part of the traces that begin here, from 0 to 1. */
    ratio: sampler.endsWith('traceidratio')
      ? v.OTEL_TRACES_SAMPLER_ARG
      : Number(sampler.endsWith('always_on')),
    /** A trusted peer decides about the sampling of the traces that the peer began. */
    parentBased: sampler.startsWith('parentbased_'),
    queue: {
      most,
      batch: Math.min(v.OTEL_BSP_MAX_EXPORT_BATCH_SIZE, most),
      delayMs: v.OTEL_BSP_SCHEDULE_DELAY,
    },
  } as const;
}

function toConfig(v: SettingValues) {
  const production = v.NODE_ENV === 'production';
  const dataDir = v.DATA_DIR ?? '.data';
  return {
    environment: v.NODE_ENV,
    database: databaseOf(v, dataDir),
    dataDir,
    host: v.HOST,
    port: v.PORT,
    /** Undefined means http://HOST:PORT, which is known once the service listens. */
    publicUrl: v.PUBLIC_URL,
    trustProxy: v.TRUST_PROXY,
    /** Pages of these origins may use the sessions of their visitors. */
    corsOrigins: v.CORS_ORIGINS,
    /** Pages of these origins may read responses, with bearer tokens only. */
    corsTokenOrigins: v.CORS_TOKEN_ORIGINS,
    secretKey: v.SECRET_KEY,
    secretKeyPrevious: v.SECRET_KEY_PREVIOUS,
    /** Without a key, no JWT is accepted. */
    jwt: {
      secret: v.JWT_SECRET,
      publicKey: v.JWT_PUBLIC_KEY,
      jwksUrl: v.JWT_JWKS_URL,
      issuer: v.JWT_ISSUER,
      audience: v.JWT_AUDIENCE,
      /** If undefined, the scopes depend on the kind of the key. */
      defaultScopes: v.JWT_DEFAULT_SCOPES,
      accounts: v.JWT_ACCOUNTS,
    },
    credentialRecheckMs: v.CREDENTIAL_RECHECK_MS,
    anonymousRead: v.ANONYMOUS_READ,
    /** Shared caches may retain responses to published documents without credentials for this long. */
    publicCacheSeconds: v.PUBLIC_CACHE_SECONDS,
    introspection: v.INTROSPECTION ?? !production,
    graphiql: v.GRAPHIQL ?? !production,
    trustedDocuments: v.TRUSTED_DOCUMENTS,
    eventRetentionMs: v.EVENT_RETENTION_HOURS * HOUR_MS,
    idempotency: {
      retentionMs: v.IDEMPOTENCY_RETENTION_HOURS * HOUR_MS,
      maxBytes: v.MAX_IDEMPOTENCY_BYTES_PER_ACCOUNT,
    },
    auditRetentionMs: v.AUDIT_RETENTION_DAYS * 24 * HOUR_MS,
    metricsToken: v.METRICS_TOKEN,
    securityContacts: v.SECURITY_CONTACT,
    redisUrl: v.REDIS_URL,
    rateLimit: bucket(v.RATE_LIMIT_BURST, v.RATE_LIMIT_PER_SECOND),
    /** A multiple of one client's limit. */
    accountRateLimitFactor: v.ACCOUNT_RATE_LIMIT_FACTOR,
    /** Failed logins and failed credentials have separate buckets, per IP address and per account. */
    authFailureLimit: bucket(v.AUTH_FAILURE_BURST, 1 / v.AUTH_FAILURE_REFILL_SECONDS),
    operationLimits: {
      maxDepth: v.MAX_DEPTH,
      maxComplexity: v.MAX_COMPLEXITY,
      maxAliases: v.MAX_ALIASES,
      maxTokens: v.MAX_TOKENS,
      maxRootFields: v.MAX_ROOT_FIELDS,
      maxDirectives: v.MAX_DIRECTIVES,
      /** Validation compares each pair of fields with one name in a selection. */
      maxFieldPairs: v.MAX_FIELD_PAIRS,
    },
    /** The limit applies to one response body, event or stored response, before compression. */
    maxResponseBytes: v.MAX_RESPONSE_BYTES,
    /** The limit applies to all responses that are being built or not yet read. */
    maxPendingResponseBytes: v.MAX_PENDING_RESPONSE_BYTES,
    maxStreamsPerClient: v.MAX_STREAMS_PER_CLIENT,
    maxDistinctSubscriptions: v.MAX_DISTINCT_SUBSCRIPTIONS,
    /** The limit applies to all distinct subscriptions together. One account may use an eighth. */
    maxDistinctSubscriptionBytes: v.MAX_DISTINCT_SUBSCRIPTION_BYTES,
    maxBodyBytes: v.MAX_BODY_BYTES,
    /** The limit applies to the bodies of all requests that have no response yet. */
    maxBufferedBodyBytes: v.MAX_BUFFERED_BODY_BYTES,
    maxConcurrentOperations: v.MAX_CONCURRENT_OPERATIONS,
    maxQueuedOperations: v.MAX_QUEUED_OPERATIONS,
    requestTimeoutMs: v.REQUEST_TIMEOUT_MS,
    keepAliveTimeoutMs: v.KEEP_ALIVE_TIMEOUT_MS,
    operationTimeoutMs: v.OPERATION_TIMEOUT_MS,
    statementTimeoutMs: v.STATEMENT_TIMEOUT_MS,
    shutdownDelayMs: (v.SHUTDOWN_DELAY_SECONDS ?? (production ? 5 : 0)) * 1000,
    logLevel: v.LOG_LEVEL,
    /** 0 disables the log line. */
    slowOperationMs: v.SLOW_OPERATION_MS,
    tracing: tracingOf(v),
  } as const;
}

function databaseProblems({ DATABASE_URL: url, DIRECT_DATABASE_URL: direct }: SettingValues): string[] {
  if (direct === undefined) return [];
  if (url === undefined) return ['DIRECT_DATABASE_URL requires DATABASE_URL, which is not set.'];
  const named = schemaOf(direct);
  return named === undefined || named === schemaOf(url)
    ? []
    : [`DIRECT_DATABASE_URL must name the same schema as DATABASE_URL, but names "${named}".`];
}

/** A token that chooses its account by email must come from one issuer, and must be meant for this service. */
function accountProblems({
  JWT_ACCOUNTS: accounts,
  JWT_ISSUER: issuer,
  JWT_AUDIENCE: audience,
}: SettingValues) {
  return accounts === 'existing' || (issuer !== undefined && audience !== undefined)
    ? []
    : [`JWT_ACCOUNTS=${accounts} requires JWT_ISSUER and JWT_AUDIENCE, but not both are set.`];
}

const MAX_SHOWN_LENGTH = 100;

/** The result is empty if the value is secret or may contain a password. */
function showValue(name: string, value = ''): string {
  if (FILE_SETTINGS.some((secret) => secret === name) || value.includes('@')) return '';
  const shown = value.length > MAX_SHOWN_LENGTH ? `${value.slice(0, MAX_SHOWN_LENGTH)}…` : value;
  return `, but is ${JSON.stringify(shown)}`;
}

/**
 * An empty value counts as unset.
 * @throws {ConfigError} with all errors
 */
export function loadConfig(environment: NodeJS.ProcessEnv): Config {
  const files = valuesFromFiles(environment);
  const given = {
    ...Object.fromEntries(
      SETTING_NAMES.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
    ),
    ...files.values,
  };
  const issues = variables.safeParse(given).error?.issues ?? [];
  const broken = new Set([...issues.map(({ path: [name] }) => String(name)), ...files.broken]);
  // A check of several settings uses only valid settings.
  const v = variables.parse(Object.fromEntries(Object.entries(given).filter(([name]) => !broken.has(name))));
  const together = [
    ...(v.NODE_ENV === 'production' ? productionProblems(v) : []),
    ...databaseProblems(v),
    ...accountProblems(v),
    ...(v.MAX_BUFFERED_BODY_BYTES < v.MAX_BODY_BYTES
      ? [
          `MAX_BUFFERED_BODY_BYTES must be at least MAX_BODY_BYTES (${v.MAX_BODY_BYTES}), so that one body fits, but is "${v.MAX_BUFFERED_BODY_BYTES}".`,
        ]
      : []),
  ].filter((problem) => ![...broken].some((name) => problem.includes(name)));
  const problems = [
    ...files.problems,
    ...issues.map((issue) => {
      const name = issue.path.join('.');
      const hint = issue.code === 'custom' && issue.params?.hint ? ` ${issue.params.hint}` : '';
      return `${name} ${issue.message}${showValue(name, environment[name])}.${hint}`;
    }),
    ...together,
  ];
  if (problems.length > 0) throw new ConfigError(problems);
  return toConfig(v);
}

/**
 * Existing variables of the environment take precedence.
 * @throws {ConfigError}
 */
export function readEnvironmentFile(path: string): void {
  try {
    for (const [name, value] of Object.entries(parseEnv(readText(path)))) process.env[name] ??= value;
  } catch (error) {
    if (error instanceof NotTextError) throw new ConfigError([`The file ${path} ${error.message}.`]);
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError([
      `The file ${path} cannot be read: ${why}. Correct its permissions, or remove it.`,
    ]);
  }
}

/**
 * A `.env` file adds unset variables.
 * @throws {ConfigError}
 */
export function loadProcessConfig(): Config {
  if (existsSync('.env')) readEnvironmentFile('.env');
  return loadConfig(process.env);
}

export const sudoUser = (): string | undefined => process.env.SUDO_USER || undefined;

export const misspelledInProcess = () => misspelledSettings(Object.keys(process.env));
