/* oxlint-disable typescript/no-deprecated -- registered servers of the transport `sse` need its client */
import {
  type JSONRPCMessage,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import type { Transport } from '../servers/server.entity';
import { LISTED_TOOLS } from './mcp-session';

/** Marks the error that replaces the missing response of a stream. Compared by identity, so that no server can forge it. */
const STREAM_ENDED = Object.freeze({ reason: 'the stream ended' });

/** Returns whether an error means that a stream ended without its response. */
export const isStreamEnd = (error: unknown): boolean =>
  (error as { data?: unknown } | null)?.data === STREAM_ENDED;

/**
 * Streamable HTTP for one operation. A request whose stream ends without its response fails immediately. The SDK alone would
 * wait for its timeout.
 */
class OperationHttpTransport extends StreamableHTTPClientTransport {
  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: TransportSendOptions): Promise<void> {
    if (Array.isArray(message) || !('id' in message) || !('method' in message)) {
      return super.send(message, options);
    }
    const { id } = message;
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      // Ignored by the SDK if the request already has its response.
      const error = { code: -32_000, message: 'The stream ended.', data: STREAM_ENDED };
      this.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

/**
 * Hides the tools of a list from the SDK, which would check all of them on the event loop, and would reject the whole list
 * of a server of 2026-07-28 for one invalid tool. Call it after the handshake.
 */
export function deliverToolsUnchecked(transport: OperationTransport): void {
  const deliver = transport.onmessage!;
  transport.onmessage = (message: JSONRPCMessage): void => {
    if (!('result' in message) || !Array.isArray(message.result['tools'])) return deliver(message);
    const { tools, ...result } = message.result;
    deliver({ ...message, result: { ...result, tools: [], [LISTED_TOOLS]: tools } });
  };
}

/** Resumes a stream that a server has closed on purpose (MCP 2025-11-25, streamable HTTP), within the deadline. */
const RECONNECTION = {
  initialReconnectionDelay: 250,
  maxReconnectionDelay: 5_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 2,
};

export type OperationTransport = (OperationHttpTransport | SSEClientTransport) & {
  readonly sessionId?: string | undefined;
};

/** Creates the transport of one operation. */
export function transportOf(
  transport: Transport,
  url: URL,
  fetch: typeof globalThis.fetch,
): OperationTransport {
  if (transport === 'sse') return new SSEClientTransport(url, { fetch });
  return new OperationHttpTransport(url, {
    fetch: withoutServerStream(fetch),
    reconnectionOptions: RECONNECTION,
    onInsufficientScope: 'throw',
  });
}

/** How often broken streams of one operation are resumed at most. The SDK counts only failed attempts. */
const RESUMPTIONS_MAX = 5;

/**
 * Blocks the stream for messages from the server, which the SDK opens after the handshake, because operations do not need
 * it. Allows a few streams that resume a response (`Last-Event-ID`).
 */
function withoutServerStream(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  let resumptions = 0;
  return (input, init) => {
    if (init?.method !== 'GET') return fetch(input, init);
    const isResumption = new Headers(init.headers).has('last-event-id');
    if (isResumption && ++resumptions <= RESUMPTIONS_MAX) return fetch(input, init);
    return Promise.resolve(new Response(null, { status: 405 }));
  };
}

/** Ends the session of a server that has sessions (MCP 2025, streamable HTTP), so that the session need not expire. */
export async function endSession(transport: OperationTransport): Promise<void> {
  if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
}
