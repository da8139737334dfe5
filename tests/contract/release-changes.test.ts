import { describe, expect, it } from 'vitest';
import {
  changeLogSection,
  changesBetween,
  type Published,
  versionAfter,
} from '../../scripts/released/changes.ts';
import { presentSurface } from '../../scripts/released/surface.ts';

const PRESENT: Published = {
  schema: 'type Query { a: Int }',
  surface: {
    settings: ['PORT'],
    codes: ['NOT_FOUND 404'],
    metrics: ['requests_total counter path'],
    commands: ['user create <email> --name', 'user list'],
    logEvents: ['http.request'],
  },
};
const but = (surface: Partial<Published['surface']>, schema = PRESENT.schema): Published => ({
  schema,
  surface: { ...PRESENT.surface, ...surface },
});

describe('the version after a release', () => {
  it.each<[string, Published, string, string]>([
    ['nothing', PRESENT, '1.4.3', 'Nothing that clients or operators see has changed.'],
    ['a description', but({}, 'type Query { "A number." a: Int }'), '1.4.3', '1 description has new words.'],
    ['a field', but({}, 'type Query { a: Int  b: Int }'), '1.5.0', 'Query.b'],
    [
      'a deprecation',
      but({}, 'type Query { a: Int @deprecated(reason: "Use b, since 2027-01-01.")  b: Int }'),
      '1.5.0',
      'Query.a is deprecated: Use b, since 2027-01-01.',
    ],
    ['a setting', but({ settings: ['HOST', 'PORT'] }), '1.5.0', '`HOST` is new.'],
    ['a setting less', but({ settings: [] }), '2.0.0', '`PORT` was removed.'],
    ['another status', but({ codes: ['NOT_FOUND 410'] }), '2.0.0', 'is now `NOT_FOUND 410`'],
    [
      'an argument more',
      but({ commands: ['user create <email> <name> --name', 'user list'] }),
      '2.0.0',
      'is now `user create <email> <name> --name`',
    ],
    [
      'an argument that may be left out',
      but({ commands: ['user create [email] [name] --name', 'user list'] }),
      '1.5.0',
      'is now `user create [email] [name] --name`',
    ],
    ['a log event', but({ logEvents: ['http.request', 'http.retry'] }), '1.5.0', '`http.retry` is new.'],
    ['a log event less', but({ logEvents: [] }), '2.0.0', '`http.request` was removed.'],
    ['a code less', but({ codes: [] }), '2.0.0', '`NOT_FOUND 404` was removed.'],
    [
      'a label more',
      but({ metrics: ['requests_total counter path status'] }),
      '1.5.0',
      'is now `requests_total counter path status`',
    ],
    [
      'a label less',
      but({ metrics: ['requests_total counter'] }),
      '2.0.0',
      'is now `requests_total counter`',
    ],
    [
      'another type of a metric',
      but({ metrics: ['requests_total gauge path'] }),
      '2.0.0',
      'requests_total gauge',
    ],
    [
      'an option more',
      but({ commands: ['user create <email> --name --role', 'user list'] }),
      '1.5.0',
      '--role',
    ],
    [
      'an option less',
      but({ commands: ['user create <email>', 'user list'] }),
      '2.0.0',
      'is now `user create <email>`',
    ],
    [
      'a command less',
      but({ commands: ['user create <email> --name'] }),
      '2.0.0',
      '`user list` was removed.',
    ],
  ])('is that which %s asks for, and the change log says it', (_what, after, version, line) => {
    const changes = changesBetween(PRESENT, after);
    expect(versionAfter('1.4.2', changes)).toBe(version);
    const section = changeLogSection(version, new Date('2027-01-31T23:00:00Z'), changes);
    expect(section).toMatch(new RegExp(`^## ${version}, 2027-01-31\n`));
    expect(section).toContain(line);
  });
});

it('a release has the notes that people wrote, before the changes of public names', () => {
  const changes = changesBetween(PRESENT, but({ settings: ['HOST', 'PORT'] }));
  const section = changeLogSection(
    '1.5.0',
    new Date('2027-01-31T23:00:00Z'),
    changes,
    '\n- Pages load faster.\n',
  );
  expect(section).toBe('## 1.5.0, 2027-01-31\n\n- Pages load faster.\n\n### Settings\n\n- `HOST` is new.');
});

it('the service has settings, codes, metrics, commands and log events to compare', () => {
  const { settings, codes, metrics, commands, logEvents } = presentSurface();
  expect(logEvents).toContain('http.request');
  expect(settings).toContain('DATABASE_URL');
  expect(codes).toContain('RATE_LIMITED 429');
  expect(metrics).toContain('content_graph_build_info gauge version commit node');
  expect(commands).toContain('deprecation report --since');
});

it('a deprecation that is moved or taken back is in the change log', () => {
  const because = (reason: string) => but({}, `type Query { a: Int @deprecated(reason: "${reason}") }`);
  const texts = (before: Published, after: Published) =>
    changesBetween(before, after).map(({ level, text }) => `${level}: ${text}`);
  expect(texts(because('since 2027-01-01'), because('since 2027-02-01'))).toEqual([
    'minor: Query.a is deprecated for another reason: since 2027-02-01',
  ]);
  expect(texts(because('since 2027-01-01'), PRESENT)).toEqual(['minor: Query.a is no longer deprecated.']);
});
