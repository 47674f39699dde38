import type { Dispatcher } from 'undici';

/** undici's parser of the responses of one connection. */
interface Parser {
  onHeadersComplete(status: number, isUpgrade: boolean, keepsAlive: boolean): number;
}

const PROCESSING = 102;

/**
 * Lets a dispatcher ignore `100 Continue`, as RFC 9110, section 15.2 requires. undici ignores all other informational
 * responses, but breaks the connection at a 100 that it has not requested. Passes it to the parser as a 102.
 */
export function ignoreContinue(dispatcher: Dispatcher): void {
  const { kParser, kSocket } = require('undici/lib/core/symbols.js') as Record<string, symbol>;
  dispatcher.on('connect', (_origin, targets) => {
    const client = targets.at(-1) as unknown as Record<symbol, Record<symbol, Parser> | undefined>;
    const parser = client[kSocket!]?.[kParser!];
    if (!parser) return;
    const onHeadersComplete = parser.onHeadersComplete.bind(parser);
    parser.onHeadersComplete = (status, ...rest) =>
      onHeadersComplete(status === 100 ? PROCESSING : status, ...rest);
  });
}
