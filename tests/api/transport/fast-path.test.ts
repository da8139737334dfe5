import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';

const app = useApp();
const takes = (method: string, target: string) => app.app.fastPath.isFastPathRequest(method, target);

describe('the fast path', () => {
  it.each([
    ['POST', '/graphql'],
    ['POST', '/graphql?api_key=x'],
    ['GET', '/graphql?query={__typename}'],
    ['OPTIONS', '/graphql'],
    ['OPTIONS', '/login'],
    ['GET', '/health/live'],
    ['GET', '/health/ready?x=1'],
    ['GET', '/metrics'],
    ['GET', '/.well-known/oauth-authorization-server'],
    ['GET', '/oauth/authorize?client_id=a&state=%20'],
    ['POST', '/oauth/token'],
    ['POST', '/login'],
    ['HEAD', '/health/live'],
    ['GET', '/favicon.ico?api_key=x'],
    ['GET', '/nowhere/at/all'],
    ['GET', '/graphql-of-another-kind'],
  ])('is taken by %s %s', (method, target) => {
    expect(takes(method, target)).toBe(true);
  });

  it.each([
    ['POST', '/graphql?"'],
    ['OPTIONS', '/./login'],
    ['HEAD', '/./health/live'],
    ['GET', '//elsewhere.example/'],
    ['GET', '/./metrics'],
    ['GET', '/health/../metrics'],
    ['GET', '/%6detrics'],
    ['GET', '/metrics/'],
    ['GET', '/metrics?a#b'],
    ['GET', 'http://elsewhere.example/metrics'],
    ['GET', '/'],
  ])('is not taken by %s %s', (method, target) => {
    expect(takes(method, target)).toBe(false);
  });
});
