import { once } from 'node:events';
import http, { type IncomingMessage, type RequestListener } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { type ApiClient, type TestApp } from '#testing';

/** A request as an upstream received it. */
export interface Received {
  method: string;
  url: string;
  /** Alternating names and values, as sent. */
  rawHeaders: string[];
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** An HTTP server in the test that records what it receives. */
export class Upstream {
  readonly received: Received[] = [];
  /** Number of connections opened so far. */
  connections = 0;
  /** Responds to the next requests. The body has arrived, unless `isEarly`. */
  answer: RequestListener = (_request, response) => response.end('ok');
  /** Calls `answer` before the body arrives. */
  isEarly = false;

  private constructor(readonly server: http.Server) {
    server.on('connection', () => this.connections++);
    server.on('request', (request, response) => void this.serve(request, response));
  }

  static async listen(): Promise<Upstream> {
    const upstream = new Upstream(http.createServer({ keepAlive: true }));
    upstream.server.listen(0, '127.0.0.1');
    await once(upstream.server, 'listening');
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get last(): Received {
    return this.received.at(-1)!;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: http.ServerResponse): Promise<void> {
    const { method = '', url = '', rawHeaders, headers } = request;
    if (this.isEarly) return this.answer(request, response);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // the client has disconnected
    }
    this.received.push({ method, url, rawHeaders, headers, body: Buffer.concat(chunks) });
    this.answer(request, response);
  }
}

/** Starts a server that responds with raw bytes to anything it receives. */
export async function rawServer(
  answer: (socket: net.Socket, request: Buffer) => void,
): Promise<{ url: string; close: () => Promise<void> }> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => answer(socket, bytes));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Registers an API, and returns its path at the proxy. */
export async function register(admin: ApiClient, workspaceId: string, body: object): Promise<string> {
  const name = `api ${Math.random()}`;
  const answer = await admin.post('/registry/v1/apis', { workspace_id: workspaceId, name, ...body });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return `/api/v1/apis/${(answer.body as { api_id: string }).api_id}`;
}

/** Sends bytes to the service, and returns all bytes that it sends until the connection is closed. */
export async function rawExchange(app: TestApp, request: string | Buffer): Promise<string> {
  const { port } = new URL(app.url);
  const socket = net.connect(Number(port), '127.0.0.1');
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => undefined);
  socket.write(request);
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}
