/**
 * A `fetch` for GraphQL clients that know nothing of event ids: it notes the id of each event that goes by and sends the
 * last one when the client connects again. One for each subscription. It is printed in docs/events.md.
 */
export function resumingFetch(): typeof fetch {
  let lastEventId: string | undefined;
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    if (lastEventId !== undefined) headers.set('last-event-id', lastEventId);
    const response = await fetch(input, { ...init, headers });
    if (response.body === null) return response;
    const decoder = new TextDecoder();
    let text = '';
    const noteIds = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk);
        // An id counts once its event is complete.
        const blocks = (text + decoder.decode(chunk, { stream: true })).split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) lastEventId = /^id: (.+)$/m.exec(block)?.[1] ?? lastEventId;
      },
    });
    return new Response(response.body.pipeThrough(noteIds), response);
  };
}
