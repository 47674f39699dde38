/** The JSON-RPC codes that the endpoint answers with. */
export const ProtocolErrorCode = { InvalidParams: -32602, InternalError: -32603 } as const;

/**
 * A JSON-RPC error. The SDK answers with the code of whatever is thrown, so its own class is not needed. That keeps the SDK out
 * of processes that serve no MCP request, where it would take 27 MiB.
 */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';

  constructor(
    readonly code: (typeof ProtocolErrorCode)[keyof typeof ProtocolErrorCode],
    message: string,
    readonly data?: object,
  ) {
    super(message);
  }
}
