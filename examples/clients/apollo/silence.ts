/** The service sends a heartbeat every 12 seconds. A connection that is silent for this long is dead. */
const MAX_SILENCE_MS = 40_000;

/** Reads, but not for ever. */
async function readWithin(reader: ReadableStreamDefaultReader<Uint8Array>) {
  const { promise, reject } = Promise.withResolvers<never>();
  const limit = setTimeout(() => reject(new Error('The event stream is silent')), MAX_SILENCE_MS);
  try {
    return await Promise.race([reader.read(), promise]);
  } finally {
    clearTimeout(limit);
  }
}

/** A `fetch` whose event streams fail if nothing comes: a connection can die without being closed. */
export const fetchUnlessSilent: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (!response.headers.get('content-type')?.startsWith('multipart/')) return response;
  const reader = response.body?.getReader();
  if (reader === undefined) return response;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await readWithin(reader);
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        await reader.cancel().catch(() => undefined);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
};
