import { shapeOf } from '../../operation/document-shape.ts';
import { createLineLimit } from '../../platform/line-limit.ts';
import type { Logger } from '../../platform/log.ts';
import { clientIdOf } from '../../request/caller.ts';
import type { RequestState } from '../../request/request-state.ts';

/** Logs what slow operations ask for. */
export interface SlowOperations {
  /** Called once an operation has been answered. */
  note(state: RequestState, durationMs: number): void;
  close(): void;
}

export interface SlowOperationsOptions {
  /** From how many milliseconds on an operation is slow; 0: none is. */
  readonly thresholdMs: number;
  readonly log: Logger;
}

/** When everything is slow, more lines tell nothing more. */
const LINES_PER_MINUTE = 100;
const MAX_SHAPE = 10_000;

/**
 * One line for each slow operation, with its document as the schema knows it: nothing in it is the client's own. The
 * line of the request has the same `requestId`.
 */
export function createSlowOperations({ thresholdMs, log }: SlowOperationsOptions): SlowOperations {
  const lines = createLineLimit({ log, maximum: LINES_PER_MINUTE, what: 'slow operation' });
  return {
    note(state, durationMs) {
      const { document, operationKind, requestId } = state;
      if (thresholdMs === 0 || durationMs < thresholdMs || document === undefined) return;
      // The shape of a large document takes time, which is short when everything is slow.
      const fields = () => {
        const shape = shapeOf(document).slice(0, MAX_SHAPE);
        return {
          requestId,
          durationMs,
          client: clientIdOf(state),
          operation: operationKind,
          document: shape,
        };
      };
      lines.warn(fields, 'slow operation');
    },
    close: lines.close,
  };
}
