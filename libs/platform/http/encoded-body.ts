import { receiveBody } from './body-reader';
import { BodyDecoder, sentLimit, undoCodings } from './body-decoder';
import type { ContentCoding } from './content-coding';
import { ReceivedBytes } from './received-bytes';
import type { ServiceRequest } from './request-context';

/**
 * Reads a body and undoes its codings. As it arrives it is only measured: until it is complete, what is kept is what
 * was sent, so that nobody holds memory by sending little, slowly. Errors as of `readBody` and `BodyDecoder`, both as
 * soon as they are certain, and whatever `admit` throws.
 *
 * @param limit of bytes, once decoded
 * @param admit is asked before the body is decoded, with the bytes that will come of it
 */
export async function readEncodedBody(
  request: ServiceRequest,
  codings: readonly ContentCoding[],
  limit: number,
  admit: (bytes: number) => void,
): Promise<Buffer> {
  const sent = new ReceivedBytes();
  const meter = new BodyDecoder(codings, limit);
  try {
    await receiveBody(request, sentLimit(limit, codings), (piece) => {
      const block = sent.add(piece);
      return block && meter.write(block);
    });
    const last = sent.end();
    if (last) await meter.write(last);
    await meter.end();
  } finally {
    meter.close();
  }
  admit(meter.size);
  return undoCodings(sent.blocks, codings, limit);
}
