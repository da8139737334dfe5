import { Duplex } from 'node:stream';
import type { MessagePort } from 'node:worker_threads';

/** The part of a socket that `pg` needs. */
export class WorkerStream extends Duplex {
  readonly #open: () => MessagePort;
  #port: MessagePort | undefined;

  /** @param open throws if the worker does not run. */
  constructor(open: () => MessagePort) {
    super();
    this.#open = open;
  }

  connect(): this {
    try {
      this.#port = this.#open()
        .on('message', (data: Uint8Array) => {
          this.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
        })
        .on('close', () => this.destroy());
      process.nextTick(() => this.emit('connect'));
    } catch (error) {
      this.destroy(error as Error);
    }
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    this.#port?.ref();
    return this;
  }

  unref(): this {
    this.#port?.unref();
    return this;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#send([chunk]);
    done();
  }

  override _writev(parts: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#send(parts.map(({ chunk }) => chunk));
    done();
  }

  override _final(done: () => void): void {
    this.#port?.close();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#port?.close();
    done(error);
  }

  /** Posts a copy, because the memory of a buffer may be shared. */
  #send(chunks: readonly Buffer[]): void {
    const message = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const chunk of chunks) {
      message.set(chunk, at);
      at += chunk.length;
    }
    this.#port?.postMessage(message, [message.buffer]);
  }
}
