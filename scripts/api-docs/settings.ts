import { FILE_SETTINGS, type SettingValues } from '../../src/platform/config/setting-table.ts';

type SettingName = keyof SettingValues;
/** What increases and what decreases when an operator raises the setting. Settings without a size have none. */
type Effect = readonly [increases: string, decreases: string] | readonly [];

const NO_SIZE: Effect = [];

/** The settings by subject. The texts of the settings are those of `.env.example`. */
const GROUPS: Readonly<Record<string, Partial<Record<SettingName, Effect>>>> = {
  'Process and network': {
    NODE_ENV: NO_SIZE,
    HOST: NO_SIZE,
    PORT: NO_SIZE,
    PUBLIC_URL: NO_SIZE,
    TRUST_PROXY: NO_SIZE,
    CORS_ORIGINS: NO_SIZE,
    CORS_TOKEN_ORIGINS: NO_SIZE,
    SECURITY_CONTACT: NO_SIZE,
    REQUEST_TIMEOUT_MS: ['time for slow networks', 'protection from slow senders'],
    KEEP_ALIVE_TIMEOUT_MS: ['open files', 'new connections'],
    SHUTDOWN_DELAY_SECONDS: ['duration of a stop', 'requests to a stopped instance'],
  },
  'Database and Redis': {
    DATABASE_URL: NO_SIZE,
    DIRECT_DATABASE_URL: NO_SIZE,
    DATABASE_POOL_SIZE: [
      'concurrent statements, if PostgreSQL has idle cores',
      'instances that `max_connections` allows',
    ],
    DATA_DIR: NO_SIZE,
    STATEMENT_TIMEOUT_MS: ['time for slow statements', 'connections free during an overload'],
    REDIS_URL: NO_SIZE,
  },
  'Secrets and credentials': {
    SECRET_KEY: NO_SIZE,
    SECRET_KEY_PREVIOUS: NO_SIZE,
    JWT_SECRET: NO_SIZE,
    JWT_PUBLIC_KEY: NO_SIZE,
    JWT_JWKS_URL: NO_SIZE,
    JWT_ISSUER: NO_SIZE,
    JWT_AUDIENCE: NO_SIZE,
    JWT_DEFAULT_SCOPES: NO_SIZE,
    JWT_ACCOUNTS: NO_SIZE,
    CREDENTIAL_RECHECK_MS: ['delay of a revocation if a notification is lost', 'statements for open streams'],
    AUTH_FAILURE_BURST: ['guesses of an attacker', 'logins rejected after typos'],
    AUTH_FAILURE_REFILL_SECONDS: ['wait after typos', 'guesses of an attacker'],
  },
  'What clients may do': {
    ANONYMOUS_READ: NO_SIZE,
    INTROSPECTION: NO_SIZE,
    GRAPHIQL: NO_SIZE,
    TRUSTED_DOCUMENTS: NO_SIZE,
    PUBLIC_CACHE_SECONDS: ['age of public responses', 'requests to the service'],
  },
  Limits: {
    RATE_LIMIT_BURST: ['load per client', 'requests with 429'],
    RATE_LIMIT_PER_SECOND: ['load per client', 'requests with 429'],
    ACCOUNT_RATE_LIMIT_FACTOR: ['load per account', 'requests with 429'],
    MAX_STREAMS_PER_CLIENT: ['connections per client', 'streams with 429'],
    MAX_DEPTH: ['nesting of documents', 'rejected documents'],
    MAX_COMPLEXITY: ['rows per operation', 'rejected operations'],
    MAX_ALIASES: ['repeated fields', 'rejected documents'],
    MAX_TOKENS: ['time to parse and validate', 'rejected documents'],
    MAX_ROOT_FIELDS: ['statements per operation', 'rejected documents'],
    MAX_DIRECTIVES: ['time to validate', 'rejected documents'],
    MAX_FIELD_PAIRS: ['time to validate', 'rejected documents'],
    OPERATION_TIMEOUT_MS: ['time for slow operations', 'slots free during an overload'],
    MAX_RESPONSE_BYTES: ['memory per operation, fourfold', 'rejected responses'],
    MAX_BODY_BYTES: ['memory per request', 'requests with 413'],
    MAX_CONCURRENT_OPERATIONS: ['memory and concurrent work', 'operations that wait'],
    MAX_QUEUED_OPERATIONS: ['waiting time during an overload', 'requests with 429 or 503'],
    MAX_PENDING_RESPONSE_BYTES: ['memory', 'disconnected slow readers'],
    MAX_BUFFERED_BODY_BYTES: ['memory', 'uploads with 503'],
    MAX_DISTINCT_SUBSCRIPTIONS: ['reads per event', 'streams with 503'],
    MAX_DISTINCT_SUBSCRIPTION_BYTES: ['memory', 'streams with 503'],
  },
  Retention: {
    EVENT_RETENTION_HOURS: ['stored events, and how long clients can resume', 'clients that must reload'],
    IDEMPOTENCY_RETENTION_HOURS: [
      'stored responses, and how long a retry is safe',
      'mutations that a late retry repeats',
    ],
    MAX_IDEMPOTENCY_BYTES_PER_ACCOUNT: ['disk space per account', 'mutations with 429'],
    AUDIT_RETENTION_DAYS: ['rows of the audit log', '–'],
  },
  'Monitoring and tracing': {
    METRICS_TOKEN: NO_SIZE,
    LOG_LEVEL: NO_SIZE,
    SLOW_OPERATION_MS: ['slow operations without a line', 'lines in the log'],
    OTEL_EXPORTER_OTLP_ENDPOINT: NO_SIZE,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: NO_SIZE,
    OTEL_EXPORTER_OTLP_HEADERS: NO_SIZE,
    OTEL_EXPORTER_OTLP_TIMEOUT: ['time for a slow collector', 'lost spans'],
    OTEL_SERVICE_NAME: NO_SIZE,
    OTEL_RESOURCE_ATTRIBUTES: NO_SIZE,
    OTEL_TRACES_SAMPLER: NO_SIZE,
    OTEL_TRACES_SAMPLER_ARG: ['traces and their CPU time', 'requests without a trace'],
    OTEL_TRACES_EXPORTER: NO_SIZE,
    OTEL_BSP_SCHEDULE_DELAY: ['delay of traces, and spans that a crash loses', 'requests to the collector'],
    OTEL_BSP_MAX_QUEUE_SIZE: ['memory', 'dropped spans'],
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: ['delay of requests during encoding', 'requests to the collector'],
  },
};

const BEGIN =
  '<!-- Generated from .env.example and scripts/api-docs/settings.ts by "npm run docs:api". -->\n';
const END = '<!-- End of the generated part. -->\n';

/** Reads the comment and the default of each setting of `.env.example`. */
function readSettings(example: string): ReadonlyMap<string, { text: string; value: string }> {
  const entries = example.matchAll(/((?:^# .*\n)+)^(# )?([A-Z][A-Z0-9_]*)=(.*)$/gm);
  return new Map(
    [...entries].map(([, comment = '', unset, name = '', value = '']) => [
      name,
      { text: comment.replaceAll(/^# |\n/gm, ' ').trim(), value: unset === undefined ? `\`${value}\`` : '' },
    ]),
  );
}

function formatRow(name: string, effect: Effect, settings: ReturnType<typeof readSettings>): string {
  const setting = settings.get(name);
  if (setting === undefined) throw new Error(`.env.example has no ${name}`);
  const file = FILE_SETTINGS.some((one) => one === name) ? ' *' : '';
  return `| ${[`\`${name}\`${file}`, setting.value, setting.text, ...effect].join(' | ')} |\n`;
}

/** Replaces the tables of docs/operate/configuration.md by those of the settings. */
export function printSettingTables(page: string, example: string): string {
  const settings = readSettings(example);
  const tables = Object.entries(GROUPS).map(([group, effects]) => {
    const rows = Object.entries(effects).map(([name, effect]) => formatRow(name, effect, settings));
    return `### ${group}\n\n| setting | default | meaning | raising increases | decreases |\n| --- | --- | --- | --- | --- |\n${rows.join('')}`;
  });
  const [before = '', rest = ''] = page.split(BEGIN);
  const after = rest.split(END)[1] ?? '';
  return `${before}${BEGIN}\n${tables.join('\n')}\n${END}${after}`;
}
