import {
  Client,
  StreamableHTTPClientTransport,
  type VersionNegotiationOptions,
} from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** The methods of a client that the tests use. */
export interface TestMcpClient {
  /** The name of the SDK and its mode. */
  name: string;
  listTools(params?: { cursor?: string }): Promise<any>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<any>;
  listResources(params?: { cursor?: string }): Promise<any>;
  listResourceTemplates(params?: { cursor?: string }): Promise<any>;
  readResource(params: { uri: string }): Promise<any>;
  listPrompts(params?: { cursor?: string }): Promise<any>;
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<any>;
  complete(params: any): Promise<any>;
  getServerCapabilities(): any;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

export type ClientMode = 'v1' | 'legacy' | 'auto' | '2026-07-28';
export const CLIENT_MODES: readonly ClientMode[] = ['v1', 'legacy', 'auto', '2026-07-28'];

const INFO = { name: 'test', version: '1.0.0' };

/** Connects an official client to the endpoint of a service. */
export async function connect(
  url: string,
  token: string,
  mode: ClientMode = 'auto',
  headers: Record<string, string> = {},
): Promise<TestMcpClient> {
  const endpoint = new URL('/mcp', url);
  const requestInit = { headers: { authorization: `Bearer ${token}`, ...headers } };
  if (mode === 'v1') {
    const client = new EarlierClient(INFO);
    await client.connect(new EarlierTransport(endpoint, { requestInit }));
    return Object.assign(client, { name: 'v1' }) as unknown as TestMcpClient;
  }
  const versionNegotiation: VersionNegotiationOptions = {
    mode: mode === '2026-07-28' ? { pin: mode } : mode,
  };
  const client = new Client(INFO, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(endpoint, { requestInit }));
  return Object.assign(client, { name: mode }) as unknown as TestMcpClient;
}
