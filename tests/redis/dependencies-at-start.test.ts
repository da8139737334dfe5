import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { DEPENDENCY_ROWS, setUpDependency, statusesOf } from './support/dependencies.ts';

const app = useApp({ settings: { REDIS_URL: process.env.REDIS_URL ?? '' } });

it.each(DEPENDENCY_ROWS)(
  'An instance that starts while %s is %s returns %j',
  async (dependency, state, expected) => {
    const { key } = await app.account();
    const { change, start } = await setUpDependency(app, dependency, state);
    await change();
    const instance = await start();
    await expect.poll(() => statusesOf(instance, key)).toEqual(expected);
  },
);
