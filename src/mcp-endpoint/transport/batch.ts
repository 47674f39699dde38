import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

/** Bytes of the answers to a batch. Requests after them are refused and do not run. */
const RESULTS_MAX = 2 * 1024 * 1024;

/** Server error, in the range that JSON-RPC leaves to servers. */
const TOO_LARGE = -32000;

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
