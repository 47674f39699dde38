import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** The behaviour of the server for a request. */
export type EmbeddingsReply =
  | 'answers'
  | 'hangs'
  | 'floods'
  | { status: number; headers?: Record<string, string>; body?: string };

export interface EmbeddingsRequest {
  path: string;
  authorization: string | undefined;
  json: { model: string; input: string[]; dimensions?: number; encoding_format: string };
}

/** Words that have the same meaning for the server. */
const MEANINGS = [['car', 'automobile'], ['weather', 'climate'], ['money', 'invoice', 'bill'], ['poison']];

/** An external embeddings backend: a real HTTP server that knows the meaning of a few words. */
export class EmbeddingsServer {
  readonly requests: EmbeddingsRequest[] = [];
  dimensions = MEANINGS.length + 1;
  reply: (request: EmbeddingsRequest) => EmbeddingsReply | Promise<EmbeddingsReply> = () => 'answers';

  private constructor(
    private readonly server: http.Server,
    private readonly port: number,
  ) {
    server.on('request', (request, response) => void this.take(request, response));
  }

  static async listen(): Promise<EmbeddingsServer> {
    const server = http.createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new EmbeddingsServer(server, (server.address() as AddressInfo).port);
  }

  env(more: Record<string, string> = {}): Record<string, string> {
    return {
      EMBEDDINGS_BASE_URL: `http://127.0.0.1:${this.port}/v1`,
      EMBEDDINGS_API_KEY: 'sk-of-embeddings',
      EMBEDDINGS_MODEL: 'meaning-1',
      ...more,
    };
  }

  /** Returns how often a text was sent. */
  count(text: string): number {
    return this.requests.filter(({ json }) => json.input.some((one) => one.includes(text))).length;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const json = JSON.parse(Buffer.concat(chunks).toString()) as EmbeddingsRequest['json'];
    const received = { path: request.url!, authorization: request.headers.authorization, json };
    this.requests.push(received);
    const reply = await this.reply(received);
    if (reply === 'hangs') return;
    if (reply === 'floods') {
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write('['.repeat(100_000)));
      };
      response.on('drain', more);
      more();
      return;
    }
    if (reply !== 'answers') {
      response.writeHead(reply.status, reply.headers);
      response.end(reply.body ?? '{"error": {"message": "no"}}');
      return;
    }
    const data = json.input.map((text, index) => ({ index, embedding: this.vectorOf(text) }));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ data: data.reverse() })); // in any order: each has its index
  }

  private vectorOf(text: string): number[] {
    const vector = MEANINGS.map((words) => words.filter((word) => text.includes(word)).length);
    return [...vector, 0.1, ...Array<number>(1000).fill(0)].slice(0, this.dimensions);
  }
}
