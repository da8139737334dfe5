/** The trace ids of the requests that are being answered, by request id: whoever logs the one need not know the other. */
export const traceIds = new Map<string, string>();
