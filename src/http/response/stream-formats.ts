import type { StreamFormat } from '../../request/event-stream.ts';
import { MULTIPART, type StreamType } from '../../request/media-type.ts';
import { MULTIPART_FORMAT } from './multipart.ts';
import { SSE } from './sse.ts';

/** How the events of a subscription are written, by the media type of the stream. */
export const STREAM_FORMATS: Readonly<Record<StreamType, StreamFormat>> = {
  'text/event-stream': SSE,
  [MULTIPART]: MULTIPART_FORMAT,
};
