import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

/** The maximum size of the responses to a batch, in bytes. Requests beyond it are rejected and do not run. */
const RESULTS_MAX = 2 * 1024 * 1024;

/** An error code in the range that JSON-RPC reserves for servers. */
const TOO_LARGE = -32000;

/** The maximum number of messages in a batch. They run one at a time. */
const BATCH_MAX = 20;

/** Revisions without batches. */
const WITHOUT_BATCHES: ReadonlySet<unknown> = new Set(['2025-06-18', '2025-11-25', '2026-07-28']);

/** Returns the fault of a batch, or null. */
export function batchFault(
  messages: readonly unknown[],
  revision: string | string[] | undefined,
): string | null {
  if (WITHOUT_BATCHES.has(revision))
    return 'this revision does not support batches. Send one message per request.';
  if (messages.length === 0 || messages.length > BATCH_MAX)
    return `a batch must have 1 to ${BATCH_MAX} messages.`;
  const ids = messages.flatMap((message) => (isJSONRPCRequest(message) ? [message.id] : []));
  return new Set(ids).size < ids.length ? 'requests of a batch must have different ids.' : null;
}

/**
 * Makes a transport deliver the messages of a batch one at a time, each after the response to the previous one, until
 * the responses are too large together. Otherwise, a batch would multiply the limits of a result.
 */
export function runSequentially(transport: WebStandardStreamableHTTPServerTransport): void {
  type Delivery = Parameters<NonNullable<typeof transport.onmessage>>;
  const deliver = transport.onmessage!;
  const send = transport.send.bind(transport);
  const waiting: Delivery[] = [];
  let bytes = 0;
  let isBusy = false;

  const next = (): void => {
    while (!isBusy) {
      const delivery = waiting.shift();
      if (!delivery) return;
      const [message] = delivery;
      isBusy = isJSONRPCRequest(message);
      if (!isJSONRPCRequest(message) || bytes <= RESULTS_MAX) deliver(...delivery);
      else
        transport.send(refusalOf(message.id)).catch((error: unknown) => transport.onerror?.(error as Error));
    }
  };
  transport.onmessage = (...delivery: Delivery) => {
    waiting.push(delivery);
    next();
  };
  transport.send = async (message, options) => {
    // throws if the client has disconnected, and then the rest does not run
    await send(message, options);
    if (!isResponse(message)) return;
    bytes += Buffer.byteLength(JSON.stringify(message));
    isBusy = false;
    next();
  };
}

const isResponse = (message: JSONRPCMessage): boolean => 'result' in message || 'error' in message;

const refusalOf = (id: string | number): JSONRPCMessage => ({
  jsonrpc: '2.0',
  id,
  error: {
    code: TOO_LARGE,
    message: 'Not run: the results of the batch are too large. Send this message in another request.',
  },
});
