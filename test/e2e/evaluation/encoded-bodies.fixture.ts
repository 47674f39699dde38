import { once } from 'node:events';
import http from 'node:http';
import { createGzip, gzipSync } from 'node:zlib';
import type { ApiClient } from '#testing';

export const GIB = 1024 ** 3;

export const base64 = (bytes: Buffer | string): Buffer => Buffer.from(Buffer.from(bytes).toString('base64'));

/** Encodes a JSON body, by `Content-Encoding`. */
export const ENCODED: Record<string, (json: string) => Buffer> = {
  gzip: (json) => gzipSync(json),
  base64: (json) => base64(json),
  'gzip, base64': (json) => base64(gzipSync(json)),
  'base64, gzip': (json) => gzipSync(base64(json)),
};

/** Returns the gzip of a repeated byte, created without the decoded data in memory. */
export async function bombOf(bytes: number, filler = 0): Promise<Buffer> {
  const gzip = createGzip({ level: 1 });
  const pieces: Buffer[] = [];
  gzip.on('data', (piece: Buffer) => pieces.push(piece));
  const write = (piece: Buffer) => new Promise<void>((resolve) => gzip.write(piece, () => resolve()));
  const piece = Buffer.alloc(16 * 1024 * 1024, filler);
  for (let left = bytes; left > 0; left -= piece.length) await write(piece.subarray(0, left));
  gzip.end();
  await once(gzip, 'end');
  return Buffer.concat(pieces);
}

export interface SlowAnswer {
  status: number;
  code: string;
  /** Bytes of the body that were sent before the response. */
  sent: number;
}

/** Sends a body in pieces, without `Content-Length`, until the service responds. */
export async function sendInPieces(
  caller: { baseUrl: string; token: string; workspaceId: string },
  path: string,
  encoding: string,
  body: Buffer,
  pieceBytes = 4096,
): Promise<SlowAnswer> {
  const request = http.request(caller.baseUrl + path, {
    method: 'POST',
    agent: false,
    headers: {
      authorization: `Bearer ${caller.token}`,
      'x-service-workspace-id': caller.workspaceId,
      'content-type': 'application/json',
      'content-encoding': encoding,
    },
  });
  request.on('error', () => undefined); // the service may respond and close the connection before the last piece
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>;
  let isAnswered = false;
  void answered.then(() => (isAnswered = true));
  let sent = 0;
  for (; sent < body.length && !isAnswered; sent += pieceBytes) {
    request.write(body.subarray(sent, sent + pieceBytes));
    // gives the service time to read the piece and to respond
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  request.end();
  const [answer] = await answered;
  const text = (await answer.setEncoding('utf8').toArray()).join('');
  const { code = '' } = JSON.parse(text) as { code?: string };
  return { status: answer.statusCode!, code, sent: Math.min(sent, body.length) };
}

/** Sends a body with headers that a client library would not send. @param encodings one header line each */
export async function sendWithLines(
  client: ApiClient,
  token: string,
  path: string,
  encodings: string[],
  body: Buffer,
): Promise<number> {
  const request = http.request(client.baseUrl + path, { method: 'POST', agent: false });
  request.setHeader('authorization', `Bearer ${token}`);
  request.setHeader('x-service-workspace-id', client.workspaceId!);
  request.setHeader('content-type', 'application/json');
  request.setHeader('content-encoding', encodings);
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>;
  request.end(body);
  const [answer] = await answered;
  answer.resume();
  return answer.statusCode!;
}
