import type { PGlite } from '@electric-sql/pglite';
import { fatalText, READY_BYTES, readyStatus } from './protocol.ts';

export type Send = (data: Uint8Array) => void;

/** The one backend of PGlite. Whoever calls it waits for the end of each call. */
export interface Backend {
  readonly db: PGlite;
  /**
   * Runs messages of the protocol. Resolves to the bytes of the answer and the transaction status. Rejects if the backend
   * has ended, or has not become ready for the next query where it should, as after a Sync.
   */
  run(
    message: Uint8Array,
    send?: Send,
    options?: { readonly ready: boolean },
  ): Promise<{ readonly bytes: number; readonly status: 'I' | 'T' | 'E' }>;
  /** Writes a checkpoint if the log since the last one is long. */
  checkpoint(): Promise<void>;
  /** Ends a backup whose connection is gone. */
  endBackup(): Promise<void>;
}

const MAX_LOG_BYTES = 67_108_864;
const CHECKPOINT_DUE = `SELECT FROM pg_catalog.pg_control_checkpoint()
  WHERE pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), redo_lsn) > ${MAX_LOG_BYTES}`;
/** Somebody who has ended the backup has nothing left to end. */
const END_BACKUP = `DO $$ BEGIN PERFORM pg_catalog.pg_backup_stop(false);
  EXCEPTION WHEN object_not_in_prerequisite_state THEN NULL; END $$`;

/**
 * `heard` gets each part of an answer. `ended` is called in the middle of one with a fatal error, after which PGlite may go
 * on answering for ever: it must end the thread.
 */
export function createBackend(db: PGlite, heard: Send, ended: (reason: string) => void): Backend {
  return {
    db,
    async run(message, send = () => undefined, { ready } = { ready: true }) {
      let bytes = 0;
      let end = new Uint8Array();
      await db.execProtocolRawStream(message, {
        onRawData(data) {
          bytes += data.length;
          // A copy: the part is a view of memory that changes.
          end = data.length < READY_BYTES ? Buffer.concat([end, data]) : data.slice(-READY_BYTES);
          heard(data);
          send(data);
          const fatal = fatalText(data);
          if (fatal !== undefined) ended(fatal);
        },
      });
      const status = readyStatus(end);
      if (ready && status === undefined) throw new Error('the backend has ended');
      return { bytes, status: status ?? 'T' };
    },
    async checkpoint() {
      const [due] = await db.exec(CHECKPOINT_DUE);
      if (due?.rows.length === 1) await db.exec('CHECKPOINT');
    },
    async endBackup() {
      await db.exec(END_BACKUP);
    },
  };
}
