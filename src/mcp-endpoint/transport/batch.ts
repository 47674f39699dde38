import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

/** Bytes of the answers to a batch. Requests after them are refused and do not run. */
const RESULTS_MAX = 2 * 1024 * 1024;

/** Server error, in the range that JSON-RPC leaves to servers. */
const TOO_LARGE = -32000;

/** Messages of a batch, which run one at a time. */
const BATCH_MAX = 20;

/** Revisions without batches. */
const WITHOUT_BATCHES: ReadonlySet<unknown> = new Set(['2025-06-18', '2025-11-25', '2026-07-28']);

/** Returns what is wrong with a batch, or null. */
export function batchFault(
  messages: readonly unknown[],
  revision: string | string[] | undefined,
): string | null {
  if (WITHOUT_BATCHES.has(revision)) return 'this revision has no batches. Send one message in each request.';
  if (messages.length === 0 || messages.length > BATCH_MAX) return `a batch has 1 to ${BATCH_MAX} messages.`;
  const ids = messages.flatMap((message) => (isJSONRPCRequest(message) ? [message.id] : []));
  return new Set(ids).size < ids.length ? 'requests of a batch must have different ids.' : null;
}

/**
 * Makes a transport deliver the messages of a batch one at a time, each after the answer to the one before, until the
 * answers are too large together. Otherwise a batch would multiply the limits of a result.
 */
export function runInTurn(transport: WebStandardStreamableHTTPServerTransport): void {
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
    // throws when nobody waits for the response any more, and the rest is not run
    await send(message, options);
    if (!isAnswer(message)) return;
    bytes += Buffer.byteLength(JSON.stringify(message));
    isBusy = false;
    next();
  };
}

const isAnswer = (message: JSONRPCMessage): boolean => 'result' in message || 'error' in message;

const refusalOf = (id: string | number): JSONRPCMessage => ({
  jsonrpc: '2.0',
  id,
  error: {
    code: TOO_LARGE,
    message: 'Not run: the results of the batch are too large. Send this message in another request.',
  },
});
