import { z } from 'zod';
import { isNetwork, isNetworkTooWide } from '../ip-address.ts';
import {
  contacts,
  databaseUrl,
  decimal,
  flag,
  host,
  httpUrl,
  integer,
  list,
  origins,
  pairs,
  publicKey,
  publicUrl,
  redisUrl,
  scopes,
  secret,
} from './setting-parsers.ts';

const SAMPLERS = ['', 'parentbased_'].flatMap((parent) =>
  ['always_on', 'always_off', 'traceidratio'].map((sampler) => `${parent}${sampler}`),
);

export const variables = z.object({
  NODE_ENV: z
    .enum(['development', 'production', 'test'], { error: 'must be development, production or test' })
    .default('development'),
  DATABASE_URL: databaseUrl.optional(),
  DIRECT_DATABASE_URL: databaseUrl.optional(),
  DATABASE_POOL_SIZE: integer(1, 1000).default(10),
  DATA_DIR: z.string().optional(),
  HOST: host.default('127.0.0.1'),
  PORT: integer(0, 65_535).default(4000),
  PUBLIC_URL: publicUrl.optional(),
  TRUST_PROXY: list
    .refine((items) => items.every(isNetwork), {
      error: 'must be a comma-separated list of IP addresses or networks such as 10.0.0.0/8',
      abort: true,
    })
    .refine((items) => !items.some(isNetworkTooWide), {
      error: 'must list networks of proxies only',
      params: { hint: 'A network this wide contains clients, which could then claim any IP address.' },
    })
    .default([]),
  CORS_ORIGINS: origins.default([]),
  CORS_TOKEN_ORIGINS: origins.default([]),
  SECRET_KEY: secret.optional(),
  SECRET_KEY_PREVIOUS: secret.optional(),
  JWT_SECRET: secret.optional(),
  JWT_PUBLIC_KEY: publicKey.optional(),
  JWT_JWKS_URL: httpUrl.optional(),
  JWT_ISSUER: z.string().optional(),
  JWT_AUDIENCE: z.string().optional(),
  JWT_DEFAULT_SCOPES: scopes.optional(),
  JWT_ACCOUNTS: z
    .enum(['existing', 'link', 'create'], { error: 'must be existing, link or create' })
    .default('existing'),
  SECURITY_CONTACT: contacts.default([]),
  CREDENTIAL_RECHECK_MS: integer(10, 30_000).default(15_000),
  ANONYMOUS_READ: flag.default(false),
  INTROSPECTION: flag.optional(),
  GRAPHIQL: flag.optional(),
  PUBLIC_CACHE_SECONDS: integer(0, 86_400).default(0),
  TRUSTED_DOCUMENTS: z
    .enum(['off', 'allowed', 'listed', 'required'], { error: 'must be off, allowed, listed or required' })
    .default('allowed'),
  EVENT_RETENTION_HOURS: decimal(0.01, 8_760).default(24),
  IDEMPOTENCY_RETENTION_HOURS: decimal(0.01, 8_760).default(24),
  AUDIT_RETENTION_DAYS: decimal(0.01, 36_500).default(365),
  MAX_IDEMPOTENCY_BYTES_PER_ACCOUNT: integer(1_000, 1_000_000_000_000).default(67_108_864),
  METRICS_TOKEN: z.string().min(16, { error: 'must be at least 16 characters long' }).optional(),
  REDIS_URL: redisUrl.optional(),
  RATE_LIMIT_BURST: integer(1, 1_000_000).default(100),
  RATE_LIMIT_PER_SECOND: decimal(0.001, 1_000_000).default(20),
  ACCOUNT_RATE_LIMIT_FACTOR: integer(1, 1_000).default(4),
  AUTH_FAILURE_BURST: integer(1, 1_000_000).default(10),
  AUTH_FAILURE_REFILL_SECONDS: decimal(0.001, 86_400).default(30),
  MAX_DEPTH: integer(1, 100).default(10),
  MAX_COMPLEXITY: integer(1, 10_000_000).default(5_000),
  MAX_ALIASES: integer(0, 10_000).default(30),
  MAX_TOKENS: integer(10, 100_000).default(1_000),
  MAX_ROOT_FIELDS: integer(1, 10_000).default(50),
  MAX_DIRECTIVES: integer(0, 10_000).default(50),
  MAX_FIELD_PAIRS: integer(0, 1_000_000).default(1_000),
  MAX_RESPONSE_BYTES: integer(10_000, 268_435_456).default(8_388_608),
  MAX_PENDING_RESPONSE_BYTES: integer(100_000, 1_000_000_000_000).default(268_435_456),
  MAX_STREAMS_PER_CLIENT: integer(1, 100_000).default(10),
  MAX_DISTINCT_SUBSCRIPTIONS: integer(1, 1_000_000).default(10_000),
  MAX_DISTINCT_SUBSCRIPTION_BYTES: integer(10_000, 1_000_000_000_000).default(67_108_864),
  MAX_BODY_BYTES: integer(1_000, 100_000_000).default(1_048_576),
  MAX_BUFFERED_BODY_BYTES: integer(1_000, 10_000_000_000).default(67_108_864),
  MAX_CONCURRENT_OPERATIONS: integer(1, 100_000).default(64),
  MAX_QUEUED_OPERATIONS: integer(0, 100_000).default(256),
  REQUEST_TIMEOUT_MS: integer(100, 600_000).default(10_000),
  KEEP_ALIVE_TIMEOUT_MS: integer(1_000, 3_600_000).default(65_000),
  OPERATION_TIMEOUT_MS: integer(100, 600_000).default(10_000),
  STATEMENT_TIMEOUT_MS: integer(100, 600_000).default(5_000),
  SHUTDOWN_DELAY_SECONDS: integer(0, 600).optional(),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be trace, debug, info, warn, error, fatal or silent',
    })
    .default('info'),
  SLOW_OPERATION_MS: integer(0, 600_000).default(1_000),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: pairs.default({}),
  OTEL_EXPORTER_OTLP_TIMEOUT: integer(1, 600_000).default(10_000),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: pairs.default({}),
  OTEL_TRACES_SAMPLER: z
    .enum(SAMPLERS, { error: `must be one of ${SAMPLERS.join(', ')}` })
    .default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: decimal(0, 1).default(1),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none'], { error: 'must be otlp or none' }).default('otlp'),
  OTEL_BSP_SCHEDULE_DELAY: integer(1, 600_000).default(5_000),
  OTEL_BSP_MAX_QUEUE_SIZE: integer(1, 1_000_000).default(2_048),
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: integer(1, 100_000).default(512),
});

export type SettingValues = z.infer<typeof variables>;

/** These settings contain a secret. NAME_FILE may name a file with the value (contract: settings). */
export const FILE_SETTINGS = [
  'DATABASE_URL',
  'DIRECT_DATABASE_URL',
  'SECRET_KEY',
  'SECRET_KEY_PREVIOUS',
  'JWT_SECRET',
  'JWT_PUBLIC_KEY',
  'METRICS_TOKEN',
  'REDIS_URL',
  'OTEL_EXPORTER_OTLP_HEADERS',
] as const satisfies readonly (keyof SettingValues)[];

export const SETTING_NAMES: readonly string[] = Object.keys(variables.shape);
