import { readJsonTraces } from './json-trace.reader';
import type { DecodedTraceRequest, OtlpEncoding } from './otlp.types';
import { readProtobufTraces } from './protobuf-trace.reader';
import { SpanCollector } from './span.collector';

/**
 * Decodes the body of `POST /v1/traces` (OTLP/HTTP: an ExportTraceServiceRequest in one of two encodings).
 *
 * A span that OTLP calls invalid, or that has a malformed field, is left out and counted in `rejected`; the others
 * are returned. The body is expected already inflated, and limited in size by the caller: memory and time are
 * proportional to it, and it may hold at most 250,000 spans, events and links together.
 *
 * @throws OtlpDecodeError when the body as a whole cannot be read: it is cut off or not of its encoding, the envelope
 *   (resource, scope and lists around the spans) does not have the form OTLP gives it, an attribute value is nested
 *   deeper than 64 levels, or there are too many records
 */
export function decodeTraceRequest(bytes: Buffer, encoding: OtlpEncoding): DecodedTraceRequest {
  const spans = new SpanCollector();
  if (encoding === 'json') {
    readJsonTraces(bytes, spans);
  } else {
    readProtobufTraces(bytes, spans);
  }
  return spans.result();
}
