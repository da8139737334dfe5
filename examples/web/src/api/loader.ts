import { type Problem, problemIn } from './problem.ts';
import { onReachable } from './reachable.ts';

const UNSAID_MS = 5_000;

export interface Loader {
  readonly isLoading: boolean;
  readonly problem: Problem | undefined;
  /** Loads, unless it is loading already. */
  run(): Promise<void>;
  /** Loads what is there from now on: if it is loading already, it does so again afterwards. */
  refresh(): Promise<void>;
  dispose(): void;
}

export interface LoaderOptions<Data> {
  readonly load: () => Promise<Data>;
  readonly onData: (data: Data) => void;
  /** The session has ended. */
  readonly onSignedOut: () => void;
  readonly update: () => void;
}

/** Loads data, and tries again by itself when the service says when, or can be reached again. */
export function createLoader<Data>({ load, onData, onSignedOut, update }: LoaderOptions<Data>): Loader {
  const lifetime = new AbortController();
  let isLoading = false;
  let isStale = false;
  let problem: Problem | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function onProblem(found: Problem): void {
    if (found.kind === 'signed-out') onSignedOut();
    // Proxies do not always say when.
    const unsaid = found.kind === 'unavailable' ? Date.now() + UNSAID_MS : undefined;
    const retryAtMs = found.retryAtMs ?? unsaid;
    problem = retryAtMs === undefined ? found : { ...found, retryAtMs };
    if (retryAtMs !== undefined) timer = setTimeout(run, retryAtMs - Date.now());
  }

  async function run(): Promise<void> {
    if (isLoading || lifetime.signal.aborted) return;
    clearTimeout(timer);
    isLoading = true;
    isStale = false;
    update();
    try {
      const data = await load();
      problem = undefined;
      if (!lifetime.signal.aborted) onData(data);
    } catch (error) {
      if (!lifetime.signal.aborted) onProblem(problemIn(error));
    } finally {
      isLoading = false;
      update();
    }
    if (isStale) await run();
  }

  function refresh(): Promise<void> {
    isStale = isLoading;
    return run();
  }

  onReachable(() => void (problem?.kind === 'unanswered' && run()), lifetime.signal);
  return {
    get isLoading() {
      return isLoading;
    },
    get problem() {
      return problem;
    },
    run,
    refresh,
    dispose() {
      clearTimeout(timer);
      lifetime.abort();
    },
  };
}
