import { ConfigError, loadConfig } from '../../../src/platform/config/config.ts';

/** What is wrong with settings. */
export function problemsOf(environment: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
