import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** How a scripted server sends its messages. `current` is revision 2026-07-28, the others are 2025-06-18. */
export const SCRIPTED_KINDS = ['json', 'event stream', 'sse', 'current'] as const;
export type ScriptedKind = (typeof SCRIPTED_KINDS)[number];

interface Request {
  id?: number | string;
  method: string;
  params?: Record<string, unknown>;
}

/** The members of a response in addition to `jsonrpc` and `id`. */
export type ScriptedResponse = Record<string, unknown>;

/** Changes the responses of a server, by method. A number is the status of an HTTP error; 0 closes the connection. */
export type Script = Record<
  string,
  (usual: any, params: Record<string, unknown>) => ScriptedResponse | number
>;

const CURRENT = '2026-07-28';
const INFO = { name: 'scripted', version: '1' };

/** An MCP server without an SDK, on a free port of the loopback interface, whose script writes the JSON of its responses. */
export class ScriptedMcpServer {
  private readonly streams = new Set<ServerResponse>();

  private constructor(
    readonly kind: ScriptedKind,
    private readonly script: Script,
    readonly http: Server,
  ) {}

  static async start(kind: ScriptedKind, script: Script): Promise<ScriptedMcpServer> {
    const http = createServer((request, response) => void server.handle(request, response));
    const server = new ScriptedMcpServer(kind, script, http);
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return server;
  }

  /** The members that register the server. */
  get registration(): { url: string; transport: string } {
    const url = `http://127.0.0.1:${(this.http.address() as AddressInfo).port}/mcp`;
    return { url, transport: this.kind === 'sse' ? 'sse' : 'streamable_http' };
  }

  async close(): Promise<void> {
    this.http.close();
    this.http.closeAllConnections();
    await once(this.http, 'close');
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET' && this.kind === 'sse') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write('event: endpoint\ndata: /messages\n\n');
      this.streams.add(response);
      return;
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = (await json(request)) as Request;
    if (message.id === undefined) return void response.writeHead(202).end();
    const scripted = this.responseTo(message);
    if (scripted === 0) return void request.socket.destroy();
    if (typeof scripted === 'number') return void response.writeHead(scripted).end();
    const text = JSON.stringify({ jsonrpc: '2.0', id: message.id, ...scripted });
    if (this.kind === 'sse') {
      for (const stream of this.streams) stream.write(`event: message\ndata: ${text}\n\n`);
      response.writeHead(202).end();
    } else if (this.kind === 'event stream') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end(`: a comment with null\r\n\r\nevent: message\r\nid: 1\r\ndata: ${text}\r\n\r\n`);
    } else {
      response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' }).end(text);
    }
  }

  private responseTo({ method, params = {} }: Request): ScriptedResponse | number {
    const usual = this.usual(method);
    const scripted = this.script[method] ?? this.script['*'];
    return usual['result'] && scripted ? scripted(usual['result'], params) : usual;
  }

  private usual(method: string): ScriptedResponse {
    const more = this.kind === 'current' ? { resultType: 'complete' } : {};
    const cached = this.kind === 'current' ? { ttlMs: 0, cacheScope: 'private' } : {};
    const capabilities = { tools: {} };
    const results: Record<string, object> = {
      'tools/list': { tools: [{ name: 'a', inputSchema: { type: 'object' } }], ...more, ...cached },
      'tools/call': { content: [{ type: 'text', text: 'done' }], ...more },
      ...(this.kind === 'current'
        ? {
            'server/discover': {
              ...{ supportedVersions: [CURRENT], capabilities, ...more, ...cached },
              _meta: { 'io.modelcontextprotocol/serverInfo': INFO },
            },
          }
        : { initialize: { protocolVersion: '2025-06-18', capabilities, serverInfo: INFO } }),
    };
    const result = results[method];
    return result ? { result } : { error: { code: -32601, message: 'Method not found' } };
  }
}
