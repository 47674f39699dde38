import { DEFAULT_LIMITS } from './element.counter';
import { REQUEST_DECODERS, type RequestDecoder } from './export-request.decoder';
import type { OtlpEncoding } from './otlp.types';

/** Returns a function that decodes a body at once. */
const decodeWith =
  <Item extends object, Request>(decoder: RequestDecoder<Item, Request>) =>
  (bytes: Buffer, encoding: OtlpEncoding, limits = DEFAULT_LIMITS): Request => {
    const steps = decoder.steps(bytes, encoding, limits);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  };

export const decodeTraceRequest = decodeWith(REQUEST_DECODERS.traces);
export const decodeLogsRequest = decodeWith(REQUEST_DECODERS.logs);
export const decodeMetricsRequest = decodeWith(REQUEST_DECODERS.metrics);
