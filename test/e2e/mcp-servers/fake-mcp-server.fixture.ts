/* oxlint-disable typescript/no-deprecated -- servers that return whatever a test wants need the low-level classes */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { Server as EarlierServer } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, Server as CurrentServer } from '@modelcontextprotocol/server';

/** A tool, as a server lists it. */
export interface FakeTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: object;
  outputSchema?: object;
  annotations?: object;
  [other: string]: unknown;
}

export const fakeTool = (name: string, more: object = {}): FakeTool => ({
  name,
  inputSchema: { type: 'object', properties: {} },
  ...more,
});

export const fakeTools = (count: number, more: object = {}): FakeTool[] =>
  Array.from({ length: count }, (_, i) => fakeTool(`tool-${String(i).padStart(5, '0')}`, more));

/** `current` speaks 2026-07-28 with the current SDK. The others speak revisions up to 2025 with version 1 of the SDK. */
export type FakeKind = 'current' | 'sessions' | 'sse';

interface Page {
  tools: FakeTool[];
  nextCursor?: string;
}

type Listing = (cursor: string | undefined) => Page | Promise<Page>;
type Calling = (name: string, args: Record<string, unknown>) => unknown;

/** Handles a request itself. Returns false to leave it to the SDK. */
type Interception = (request: IncomingMessage, response: ServerResponse, body: string) => boolean;

/** An MCP server that uses the official SDK, on a free port of the loopback interface. */
export class FakeMcpServer {
  /** The requests that arrived: method, path and headers. */
  readonly requests: { method: string; path: string; headers: IncomingMessage['headers']; body: string }[] =
    [];
  /** The ids of the sessions that the client ended. */
  endedSessions: string[] = [];
  /** Whether the server has the `tools` capability. Without it, the SDK rejects the methods of tools. */
  hasTools = true;
  intercept: Interception = () => false;
  call: Calling = (name, args) => ({ content: [{ type: 'text', text: `${name} ${JSON.stringify(args)}` }] });
  private list: Listing = () => ({ tools: [] });
  private readonly sockets = new Set<Socket>();
  private readonly sessions = new Map<string, StreamableHTTPServerTransport>();
  private readonly streams = new Map<string, SSEServerTransport>();
  private readonly handleCurrent = toNodeHandler(
    createMcpHandler(() => this.current(), { legacy: 'reject' }),
  );

  private constructor(
    readonly kind: FakeKind,
    private readonly http: Server,
    private readonly scheme: string,
  ) {
    http.on('connection', (socket: Socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  static async start(
    kind: FakeKind = 'current',
    tls?: { key: string; cert: string },
  ): Promise<FakeMcpServer> {
    const listener: RequestListener = (request, response) => void server.handle(request, response);
    const http = tls ? createTlsServer(tls, listener) : createServer(listener);
    const server = new FakeMcpServer(kind, http as Server, tls ? 'https' : 'http');
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return server;
  }

  get origin(): string {
    return `${this.scheme}://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.origin}/${this.kind === 'sse' ? 'sse' : 'mcp'}`;
  }

  /** The streams of the SSE transport that are open. */
  get openStreams(): number {
    return this.streams.size;
  }

  /** Ends the streams of the SSE transport. */
  async endStreams(): Promise<void> {
    for (const stream of this.streams.values()) await stream.close();
  }

  /** The sessions that the client has not ended. */
  get openSessions(): number {
    return this.sessions.size;
  }

  /** Sets the tools that the server lists, in pages. */
  offer(tools: readonly FakeTool[], pageSize = 100): void {
    this.offerPages((cursor) => {
      const start = Number(cursor ?? 0);
      const end = start + pageSize;
      return {
        tools: tools.slice(start, end),
        ...(end < tools.length && { nextCursor: String(end) }),
      };
    });
  }

  offerPages(list: Listing): void {
    this.list = list;
  }

  /** Returns the number of requests with a JSON-RPC method. */
  count(method: string): number {
    return this.requests.filter(({ body }) => body.includes(`"method":"${method}"`)).length;
  }

  /** Rejects requests without this header. */
  demand(header: string, value: string): void {
    this.intercept = (request, response) => {
      if (request.headers[header] === value) return false;
      response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end('who are you?');
      return true;
    };
  }

  async close(): Promise<void> {
    this.http.close();
    for (const socket of this.sockets) socket.destroy();
    await Promise.all([...this.sessions.values()].map((one) => one.close()));
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // the client disconnected
    }
    const body = Buffer.concat(chunks).toString();
    const { method = '', url: path = '', headers } = request;
    this.requests.push({ method, path, headers, body });
    if (this.intercept(request, response, body)) return;
    const parsed: unknown = body === '' ? undefined : JSON.parse(body);
    if (this.kind === 'current') await this.handleCurrent(request, response, parsed);
    else if (this.kind === 'sessions') await this.handleSession(request, response, parsed);
    else await this.handleSse(request, response, parsed);
  }

  private async handleSession(
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
  ): Promise<void> {
    const id = request.headers['mcp-session-id'] as string | undefined;
    let transport = id === undefined ? undefined : this.sessions.get(id);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (created) => void this.sessions.set(created, transport!),
        onsessionclosed: (ended) => {
          this.endedSessions.push(ended!);
          this.sessions.delete(ended!);
        },
      });
      await this.earlier().connect(transport as never);
    }
    await transport.handleRequest(request, response, body);
  }

  private async handleSse(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response);
      this.streams.set(transport.sessionId, transport);
      response.once('close', () => this.streams.delete(transport.sessionId));
      await this.earlier().connect(transport);
      return;
    }
    const id = new URL(request.url!, this.origin).searchParams.get('sessionId') ?? '';
    await this.streams.get(id)!.handlePostMessage(request, response, body);
  }

  private earlier(): EarlierServer {
    const capabilities = this.hasTools ? { tools: {} } : {};
    const server = new EarlierServer({ name: 'fake', version: '1.2.3' }, { capabilities });
    if (!this.hasTools) return server;
    server.setRequestHandler(
      ListToolsRequestSchema,
      async ({ params }) => (await this.list(params?.cursor)) as never,
    );
    server.setRequestHandler(
      CallToolRequestSchema,
      async ({ params }) => (await this.call(params.name, params.arguments ?? {})) as never,
    );
    return server;
  }

  private current(): CurrentServer {
    const capabilities = this.hasTools ? { tools: {} } : {};
    const server = new CurrentServer({ name: 'fake', version: '1.2.3' }, { capabilities });
    if (!this.hasTools) return server;
    server.setRequestHandler('tools/list', async ({ params }) => (await this.list(params?.cursor)) as never);
    server.setRequestHandler(
      'tools/call',
      async ({ params }) => (await this.call(params.name, params.arguments ?? {})) as never,
    );
    return server;
  }
}
