/**
 * Creates the `fetch` of one subscription, for a client that reconnects but does not resume. It sends the id of the last
 * event of Server-Sent Events with the next request. A stream that ends without `complete` fails, as the instance is
 * stopping: some clients take the end for the end of the subscription.
 */
export function createEventIdFetch(): typeof fetch {
  let lastEventId: string | undefined;
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (lastEventId !== undefined) headers.set('last-event-id', lastEventId);
    const response = await fetch(input, { ...init, headers });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (response.body === null || !isStream) return response;
    let rest = '';
    let isComplete = false;
    const readBlocks = new TransformStream<string, string>({
      transform(text, controller) {
        // The client has an event once the whole block is there.
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) {
          lastEventId = /^id: (.*)$/m.exec(block)?.[1] ?? lastEventId;
          isComplete ||= /^event: complete$/m.test(block);
        }
        controller.enqueue(text);
      },
      flush(controller) {
        if (!isComplete) controller.error(new TypeError('The stream ended without "complete".'));
      },
    });
    const body = response.body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(readBlocks)
      .pipeThrough(new TextEncoderStream());
    return new Response(body, response);
  };
}
