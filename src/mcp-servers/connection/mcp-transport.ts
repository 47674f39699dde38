/* eslint-disable @typescript-eslint/no-deprecated -- registered servers of the transport `sse` need its client */
import {
  type JSONRPCMessage,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import type { Transport } from '../servers/server.entity';

/** Marks the answer that a stream without one is given. Compared by identity, so that no server can send it. */
const STREAM_ENDED = Object.freeze({ reason: 'the stream ended' });

/** Returns whether an error is that of a stream that ended without its answer. */
export const isStreamEnd = (error: unknown): boolean =>
  (error as { data?: unknown } | null)?.data === STREAM_ENDED;

/**
 * Streamable HTTP for one operation. A request whose stream ends without its answer fails at once, where the SDK would wait
 * for its timeout.
 */
class OperationHttpTransport extends StreamableHTTPClientTransport {
  override send(message: JSONRPCMessage | JSONRPCMessage[], options?: TransportSendOptions): Promise<void> {
    if (Array.isArray(message) || !('id' in message) || !('method' in message)) {
      return super.send(message, options);
    }
    const { id } = message;
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      // Ignored by the SDK if the request already has its answer.
      const error = { code: -32_000, message: 'The stream ended.', data: STREAM_ENDED };
      this.onmessage?.({ jsonrpc: '2.0', id, error });
    };
    return super.send(message, { ...options, onRequestStreamEnd });
  }
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
    fetch: withoutStandingStream(fetch),
    reconnectionOptions: RECONNECTION,
    onInsufficientScope: 'throw',
  });
}

/** How often the broken streams of one operation are resumed. The SDK counts only attempts that fail. */
const RESUMPTIONS_MAX = 5;

/**
 * Opens no stream for the server's own messages, which the SDK would open after the handshake: an operation waits for none.
 * A stream that continues an answer (`Last-Event-ID`) is opened a few times.
 */
function withoutStandingStream(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  let resumptions = 0;
  return (input, init) => {
    if (init?.method !== 'GET') return fetch(input, init);
    const isResumption = new Headers(init.headers).has('last-event-id');
    if (isResumption && ++resumptions <= RESUMPTIONS_MAX) return fetch(input, init);
    return Promise.resolve(new Response(null, { status: 405 }));
  };
}

/** Ends the session of a server that has sessions (MCP 2025, streamable HTTP), so that it need not wait for its expiry. */
export async function endSession(transport: OperationTransport): Promise<void> {
  if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
}
