import { isUtf8 } from 'node:buffer';
import { shapeAnswer } from './answer-shapes';
import type { CallFormat } from './call-format';
import type { ProviderKind } from '../providers/provider.entity';
import { inspect, type Inspected, type RequestFault, shape, type Shape } from './request-shapes';
import type { AnswerFacts } from './answer-shapes';

/** The tasks of `Shaper`. They take and return bytes, because bytes can be transferred between threads without a copy. */

export const inspectBytes = (bytes: Uint8Array): Inspected =>
  isUtf8(bytes) ? inspect(textOf(bytes)) : { fault: { pointer: '', detail: 'The body is not valid UTF-8.' } };

export function shapeBytes(input: {
  bytes: Uint8Array;
  shape: Shape;
}): { bytes: Uint8Array } | { fault: RequestFault } {
  const shaped = shape(textOf(input.bytes), input.shape);
  return 'text' in shaped ? { bytes: Buffer.from(shaped.text) } : shaped;
}

export interface AnswerInput {
  bytes: Uint8Array;
  format: CallFormat;
  kind: ProviderKind;
  request: Uint8Array;
}

export function shapeAnswerBytes({
  bytes,
  format,
  kind,
  request,
}: AnswerInput): { bytes: Uint8Array; facts: AnswerFacts } | { fault: string } {
  const text = textOf(bytes);
  const shaped = shapeAnswer(text, { format, kind, request: textOf(request) });
  if ('fault' in shaped) return shaped;
  return { bytes: shaped.text === text ? bytes : Buffer.from(shaped.text), facts: shaped.facts };
}

const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
