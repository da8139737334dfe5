import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT, temporaryFolder } from '../support/processes/process.ts';

const RULES = join(ROOT, 'deploy/alerts.yml');

it('promtool accepts deploy/alerts.yml', () => {
  expect(execFileSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' })).toContain('SUCCESS');
});

/** A series in promtool's notation, such as `0+10x20`: one value every 15 s. */
type Series = Readonly<Record<string, string>>;

interface Case {
  readonly alert: string;
  /** With these it fires, and no other alert. */
  readonly bad: Series;
  /** With these none does. */
  readonly good: Series;
}

const UP = 'up{job="content-graph",instance="a"}';
const always = (value: number | string) => `${value}x160`;
const growing = (by: number) => `0+${by}x160`;
const request = (status: string) => `content_graph_http_requests_total{route="/graphql",status="${status}"}`;
const bucket = (metric: string, labels: string, les: Readonly<Record<string, number>>): Series =>
  Object.fromEntries(
    Object.entries(les).map(([le, by]) => [`${metric}_bucket{${labels}le="${le}"}`, growing(by)]),
  );

const CASES: readonly Case[] = [
  { alert: 'ContentGraphInstanceDown', bad: { [UP]: always(0) }, good: { [UP]: always(1) } },
  {
    alert: 'ContentGraphInstanceNotReady',
    bad: { 'content_graph_ready{instance="a"}': always(0) },
    good: { 'content_graph_ready{instance="a"}': always(1) },
  },
  {
    alert: 'ContentGraphErrorRateHigh',
    bad: { [request('200')]: growing(90), [request('503')]: growing(10) },
    good: { [request('200')]: growing(990), [request('503')]: growing(10) },
  },
  {
    alert: 'ContentGraphInternalErrors',
    bad: { 'content_graph_response_errors_total{code="INTERNAL_SERVER_ERROR"}': growing(1) },
    good: { 'content_graph_response_errors_total{code="INTERNAL_SERVER_ERROR"}': always(7) },
  },
  {
    alert: 'ContentGraphLatencyHigh',
    bad: bucket('content_graph_http_request_duration_seconds', 'route="/graphql",', {
      '1': 50,
      '5': 100,
      '+Inf': 100,
    }),
    good: bucket('content_graph_http_request_duration_seconds', 'route="/graphql",', {
      '1': 100,
      '5': 100,
      '+Inf': 100,
    }),
  },
  {
    alert: 'ContentGraphDatabaseUnreachable',
    bad: {
      'content_graph_database_up{instance="a"}': always(0),
      'content_graph_database_writable{instance="a"}': always(1),
    },
    good: {
      'content_graph_database_up{instance="a"}': always(1),
      'content_graph_database_writable{instance="a"}': always(1),
    },
  },
  {
    alert: 'ContentGraphDatabaseNotWritable',
    bad: {
      'content_graph_database_up{instance="a"}': always(0),
      'content_graph_database_writable{instance="a"}': always(0),
    },
    good: { 'content_graph_database_writable{instance="a"}': always(1) },
  },
  {
    alert: 'ContentGraphDatabasePoolExhausted',
    bad: { 'content_graph_database_connections_waiting{instance="a"}': always(3) },
    good: { 'content_graph_database_connections_waiting{instance="a"}': '3 0 3 0x160' },
  },
  {
    alert: 'ContentGraphEventDeliverySlow',
    bad: bucket('content_graph_event_delivery_lag_seconds', '', { '1': 50, '5': 100, '+Inf': 100 }),
    good: bucket('content_graph_event_delivery_lag_seconds', '', { '1': 100, '5': 100, '+Inf': 100 }),
  },
  {
    alert: 'ContentGraphEventDeliveryBlocked',
    bad: { 'content_graph_event_delivery_blocked_seconds{instance="a"}': always(30) },
    good: { 'content_graph_event_delivery_blocked_seconds{instance="a"}': always(1) },
  },
  {
    alert: 'ContentGraphNotificationListenerDown',
    bad: { 'content_graph_notification_listener_up{instance="a"}': always(0) },
    good: { 'content_graph_notification_listener_up{instance="a"}': always(1) },
  },
  {
    alert: 'ContentGraphEventStreamsAborted',
    bad: {
      content_graph_event_streams_aborted_total: growing(10),
      content_graph_event_streams_open: always(100),
    },
    good: {
      content_graph_event_streams_aborted_total: growing(1),
      content_graph_event_streams_open: always(10_000),
    },
  },
  {
    alert: 'ContentGraphResponseMemoryHigh',
    bad: {
      'content_graph_response_pending_bytes{instance="a"}': always(9),
      'content_graph_response_pending_limit_bytes{instance="a"}': always(10),
    },
    good: {
      'content_graph_response_pending_bytes{instance="a"}': always(1),
      'content_graph_response_pending_limit_bytes{instance="a"}': always(10),
    },
  },
  {
    alert: 'ContentGraphRedisDown',
    bad: {
      'content_graph_rate_limit_redis_up{instance="a"}': always(0),
      'content_graph_rate_limit_redis_up{instance="b"}': always(1),
    },
    good: { 'content_graph_rate_limit_redis_up{instance="a"}': always(0) },
  },
  {
    alert: 'ContentGraphJobOverdue',
    bad: { 'content_graph_job_last_success_timestamp_seconds{job_name="events"}': always(-4_000) },
    good: { 'content_graph_job_last_success_timestamp_seconds{job_name="events"}': growing(15) },
  },
  {
    alert: 'ContentGraphEventLoopBlocked',
    bad: { 'nodejs_eventloop_lag_p99_seconds{instance="a"}': always(1) },
    good: { 'nodejs_eventloop_lag_p99_seconds{instance="a"}': always(0.01) },
  },
  {
    alert: 'ContentGraphMemoryHigh',
    bad: {
      'process_resident_memory_bytes{instance="a"}': always(9e8),
      'content_graph_memory_limit_bytes{instance="a"}': always(1e9),
    },
    good: {
      'process_resident_memory_bytes{instance="a"}': always(9e8),
      'content_graph_memory_limit_bytes{instance="a"}': always(8e9),
    },
  },
  {
    alert: 'ContentGraphInstanceCrashLooping',
    bad: { 'process_start_time_seconds{job="content-graph",instance="a"}': '1x120 2x10 3x10 4x10 5x10' },
    good: { 'process_start_time_seconds{job="content-graph",instance="a"}': '1x120 2x10 3x30' },
  },
  {
    alert: 'ContentGraphScrapeTargetsMissing',
    bad: { 'up{job="node"}': always(1) },
    good: { [UP]: always(1) },
  },
  {
    alert: 'ContentGraphClientRejected',
    bad: {
      'content_graph_client_rejected_requests_total{client="one",instance="a"}': growing(12),
      'content_graph_client_rejected_requests_total{client="one",instance="b"}': growing(12),
    },
    good: {
      'content_graph_client_rejected_requests_total{client="one"}': growing(9),
      'content_graph_client_rejected_requests_total{client="two"}': growing(9),
    },
  },
  {
    alert: 'ContentGraphAuthFailuresHigh',
    bad: { 'content_graph_rate_limit_checks_total{bucket="login",outcome="rejected"}': growing(12) },
    good: {
      'content_graph_rate_limit_checks_total{bucket="login",outcome="allowed"}': growing(2),
      'content_graph_rate_limit_checks_total{bucket="client",outcome="allowed"}': growing(1_000),
    },
  },
  {
    alert: 'ContentGraphDatabaseErrors',
    bad: { 'content_graph_database_errors_total{kind="timeout"}': growing(6) },
    good: {
      'content_graph_database_errors_total{kind="timeout"}': growing(1),
      'content_graph_database_errors_total{kind="conflict"}': growing(600),
    },
  },
  {
    alert: 'ContentGraphDiskSpaceLow',
    bad: { 'content_graph_data_disk_available_bytes{instance="a"}': always(5e8) },
    good: { 'content_graph_data_disk_available_bytes{instance="a"}': always(5e10) },
  },
  {
    alert: 'ContentGraphClockSkew',
    bad: { 'content_graph_clock_offset_seconds{instance="a"}': always(-5) },
    good: { 'content_graph_clock_offset_seconds{instance="a"}': always(0.2) },
  },
];

/** After this, every alert has had its time. */
const AT = '39m';

const testOf = (series: Series, expected: readonly string[]) => {
  // One that does not look for missing targets has some.
  const all = Object.keys(series).some((name) => name.startsWith('up{'))
    ? series
    : { ...series, [UP]: always(1) };
  return {
    interval: '15s',
    input_series: Object.entries(all).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: AT,
        exp_samples: expected.map((alertname) => ({ labels: `{alertname="${alertname}"}`, value: 1 })),
      },
    ],
  };
};

describe('deploy/alerts.yml', () => {
  it.each(CASES)('$alert fires when it is to, and no other does', async ({ alert, bad, good }) => {
    const file = join(await temporaryFolder(), 'rules.test.yml');
    const tests = [testOf(bad, [alert]), testOf(good, [])];
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '15s', tests }));
    expect(execFileSync('promtool', ['test', 'rules', file], { encoding: 'utf8' })).toContain('SUCCESS');
  });

  it('has no alert that is not tried here', () => {
    const { groups } = parse(readFileSync(RULES, 'utf8')) as {
      groups: { rules: { alert: string }[] }[];
    };
    const names = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
    expect(names).toEqual(CASES.map(({ alert }) => alert));
  });
});
