import { Server } from '@modelcontextprotocol/server';
import type { ServiceRequest } from '#platform/http';
import type { RateLimits } from '#platform/rate-limit';
import type { Caller } from '../sessions/caller';
import type { McpServerFactory } from './mcp-server.factory';
import { McpTransport } from './mcp-transport';

const REVISION = '2026-07-28';
const DESCRIBED = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

describe('a request whose client has disconnected', () => {
  it.each([
    ['an earlier revision', {}, {}],
    [REVISION, { 'mcp-protocol-version': REVISION, 'mcp-method': 'tools/list' }, { _meta: DESCRIBED }],
  ])('frees its server, even if the handler never ends: %s', async (_, headers, params) => {
    let begin!: () => void;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    let close!: () => void;
    const closed = new Promise<void>((resolve) => (close = resolve));
    const servers = {
      create: () => {
        // oxlint-disable-next-line typescript/no-deprecated -- the SDK deprecates it only for simple servers
        const server = new Server({ name: 'test', version: '1' }, { capabilities: { tools: {} } });
        server.setRequestHandler('tools/list', () => {
          begin();
          return new Promise<never>(() => undefined);
        });
        server.onclose = close;
        return server;
      },
    };
    const transport = new McpTransport(servers as unknown as McpServerFactory, {} as RateLimits);
    const disconnect = new AbortController();
    const rawBody = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params }));
    const request = {
      headers: { 'content-type': 'application/json', ...headers },
      rawBody,
    } as unknown as ServiceRequest;
    const caller = { principal: { id: 'user' }, signal: disconnect.signal } as Caller;
    const served = transport.serve(caller, request).catch((error: unknown) => error);
    await begun;
    disconnect.abort(new Error('disconnected'));
    await Promise.all([closed, served]);
    await transport.close();
  });
});
