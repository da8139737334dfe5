import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('promtool accepts deploy/alerts.yml', () => {
  const file = join(import.meta.dirname, '../../deploy/alerts.yml');
  expect(execFileSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })).toContain('SUCCESS');
});
